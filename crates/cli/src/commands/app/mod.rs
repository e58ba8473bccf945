mod at;
mod create;
mod delete;
mod get;
mod history;
mod list;
mod list_version;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

pub use get::live_text;
pub use list_version::release_text;

#[derive(Debug, Subcommand)]
pub enum AppCommand {
    List(list::ListArgs),
    Create(create::CreateArgs),
    Get(get::GetArgs),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
    #[command(visible_alias = "versions", alias = "list-history", alias = "list-versions")]
    ListVersion(list_version::ListVersionArgs),
    History(history::HistoryArgs),
    At(at::AtArgs),
}

pub async fn run(context: &Context<'_>, command: AppCommand) -> Result<()> {
    match command {
        AppCommand::List(args) => list::run(context, args).await,
        AppCommand::Create(args) => create::run(context, args).await,
        AppCommand::Get(args) => get::run(context, args).await,
        AppCommand::Show(args) => show::run(context, args).await,
        AppCommand::Delete(args) => delete::run(context, args).await,
        AppCommand::ListVersion(args) => list_version::run(context, args).await,
        AppCommand::History(args) => history::run(context, args).await,
        AppCommand::At(args) => at::run(context, args).await,
    }
}

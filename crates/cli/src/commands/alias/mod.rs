mod create;
mod delete;
mod get;
pub mod history;
mod list;
mod rollback;
mod update;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum AliasCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Get(get::GetArgs),
    Update(update::UpdateArgs),
    Delete(delete::DeleteArgs),
    History(history::HistoryArgs),
    Rollback(rollback::RollbackArgs),
}

pub async fn run(context: &Context<'_>, command: AliasCommand) -> Result<()> {
    match command {
        AliasCommand::Create(args) => create::run(context, args).await,
        AliasCommand::List(args) => list::run(context, args).await,
        AliasCommand::Get(args) => get::run(context, args).await,
        AliasCommand::Update(args) => update::run(context, args).await,
        AliasCommand::Delete(args) => delete::run(context, args).await,
        AliasCommand::History(args) => history::run(context, args).await,
        AliasCommand::Rollback(args) => rollback::run(context, args).await,
    }
}

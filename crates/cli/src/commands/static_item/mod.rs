mod add;
mod delete;
mod get;
mod list;

use clap::Subcommand;
use milepost_model::UnitKind;

use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum StaticCommand {
    /// Add or update static files
    Add(add::AddArgs),
    /// List static items
    List(list::ListArgs),
    /// Show a static item and its files
    Get(get::GetArgs),
    /// Remove a static item from the app
    Delete(delete::DeleteArgs),
    /// List, show and describe versions of a static item
    #[command(subcommand)]
    Version(version::ReadCommand),
}

pub async fn run(context: &Context<'_>, command: StaticCommand) -> Result<()> {
    match command {
        StaticCommand::Add(args) => add::run(context, args).await,
        StaticCommand::List(args) => list::run(context, args).await,
        StaticCommand::Get(args) => get::run(context, args).await,
        StaticCommand::Delete(args) => delete::run(context, args).await,
        StaticCommand::Version(command) => version::read(context, UnitKind::Static, command).await,
    }
}

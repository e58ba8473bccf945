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
    /// Create an alias
    Create(create::CreateArgs),
    /// List the aliases of a function
    List(list::ListArgs),
    /// Show an alias
    Get(get::GetArgs),
    /// Point an alias at another version
    Update(update::UpdateArgs),
    /// Delete an alias, never a version
    Delete(delete::DeleteArgs),
    /// Show every move of an alias
    History(history::HistoryArgs),
    /// Move an alias back to where it was before
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

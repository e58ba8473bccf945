mod delete;
mod get;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: GroupCommand) -> Result<()> {
    match command {
        GroupCommand::List(args) => list::run(context, args).await,
        GroupCommand::Get(args) => get::run(context, args).await,
        GroupCommand::Delete(args) => delete::run(context, args).await,
    }
}

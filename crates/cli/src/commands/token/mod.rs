mod create;
mod delete;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token
    Create(create::CreateArgs),
    /// List tokens
    List(list::ListArgs),
    /// Delete a token
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Create(args) => create::run(context, args).await,
        TokenCommand::List(args) => list::run(context, args).await,
        TokenCommand::Delete(args) => delete::run(context, args).await,
    }
}

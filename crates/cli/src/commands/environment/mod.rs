mod create;
mod delete;
mod get;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum EnvironmentCommand {
    /// List the environments
    List(list::ListArgs),
    /// Show an environment
    Get(get::GetArgs),
    /// Create an environment, or a new version of it
    #[command(visible_alias = "update")]
    Create(create::CreateArgs),
    /// Remove an environment from the app
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: EnvironmentCommand) -> Result<()> {
    match command {
        EnvironmentCommand::List(args) => list::run(context, args).await,
        EnvironmentCommand::Get(args) => get::run(context, args).await,
        EnvironmentCommand::Create(args) => create::run(context, args).await,
        EnvironmentCommand::Delete(args) => delete::run(context, args).await,
    }
}

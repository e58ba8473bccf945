mod create;
mod delete;
mod get;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

pub use list::target;

#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// Create a route, or a new version of it
    #[command(visible_alias = "update")]
    Create(create::CreateArgs),
    /// List the routes
    List(list::ListArgs),
    /// Show a route
    Get(get::GetArgs),
    /// Remove a route from the app
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: RouteCommand) -> Result<()> {
    match command {
        RouteCommand::Create(args) => create::run(context, args).await,
        RouteCommand::List(args) => list::run(context, args).await,
        RouteCommand::Get(args) => get::run(context, args).await,
        RouteCommand::Delete(args) => delete::run(context, args).await,
    }
}

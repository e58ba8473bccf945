mod create;
mod delete;
mod get;
mod list;

use clap::Subcommand;
use milepost_model::UnitKind;
use milepost_model::unit_put::PutOnly;

use crate::args::Global;
use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

pub use delete::DeleteArgs;
pub use get::GetArgs;
pub use list::{ListArgs, target};

#[derive(Debug, Subcommand)]
pub enum RouteCommand {
    /// Create a route
    Create(create::CreateArgs),
    /// Replace a route with a new version
    Update(create::UpdateArgs),
    /// List routes
    List(list::ListArgs),
    /// Show a route
    Get(get::GetArgs),
    /// Remove a route from the app
    Delete(delete::DeleteArgs),
    /// List, show and describe versions of a route
    #[command(subcommand)]
    Version(version::ReadCommand),
}

pub async fn run(ui: &Ui, global: &Global, command: RouteCommand) -> Result<()> {
    if let RouteCommand::Create(args) = &command
        && args.spec.is_asked()
    {
        return create::write(ui, args);
    }
    let context = &Context::new(ui, global)?;
    match command {
        RouteCommand::Create(args) => create::run(context, args.route, PutOnly::New).await,
        RouteCommand::Update(args) => create::run(context, args.route, PutOnly::Existing).await,
        RouteCommand::List(args) => list::run(context, args).await,
        RouteCommand::Get(args) => get::run(context, args).await,
        RouteCommand::Delete(args) => delete::run(context, args).await,
        RouteCommand::Version(command) => version::read(context, UnitKind::Route, command).await,
    }
}

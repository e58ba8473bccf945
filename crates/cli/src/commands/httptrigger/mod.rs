//! Fission's name for a route, whose requests are passed on as Fission's router passes them.

mod create;

use clap::Subcommand;
use milepost_model::unit_put::PutOnly;

use super::route::{self, DeleteArgs, GetArgs, ListArgs, RouteCommand};
use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

#[derive(Debug, Subcommand)]
pub enum HttptriggerCommand {
    /// Create a route as Fission does
    Create(create::CreateArgs),
    /// Make a new version of such a route
    Update(create::UpdateArgs),
    /// List the routes
    List(ListArgs),
    /// Show a route
    Get(GetArgs),
    /// Remove a route from the app
    Delete(DeleteArgs),
}

pub async fn run(ui: &Ui, global: &Global, command: HttptriggerCommand) -> Result<()> {
    let (args, only) = match command {
        HttptriggerCommand::Create(args) if args.spec.is_asked() => return create::write(ui, &args),
        HttptriggerCommand::Create(args) => (args.trigger, PutOnly::New),
        HttptriggerCommand::Update(args) => (args.trigger, PutOnly::Existing),
        HttptriggerCommand::List(args) => return route::run(ui, global, RouteCommand::List(args)).await,
        HttptriggerCommand::Get(args) => return route::run(ui, global, RouteCommand::Get(args)).await,
        HttptriggerCommand::Delete(args) => return route::run(ui, global, RouteCommand::Delete(args)).await,
    };
    create::run(&Context::new(ui, global)?, args, only).await
}

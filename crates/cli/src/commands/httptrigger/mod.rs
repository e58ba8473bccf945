//! `httptrigger`: Fission's name for a route, with the request forwarding of Fission's router.

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
    Create(create::CreateArgs),
    Update(create::UpdateArgs),
    List(ListArgs),
    Get(GetArgs),
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

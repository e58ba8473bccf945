use clap::Args;
use milepost_model::UnitKind;
use milepost_model::unit_put::{PutOnly, TimerPut, UnitPut};

use crate::commands::shared::{self, ChangeArgs, NameArgs, TargetArgs};
use crate::context::Context;
use crate::failure::Result;

/// Create a timer, or with `update` a new version of it
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NameArgs,
    /// The schedule: five fields, six with seconds, or `@every 5m`
    #[arg(long, value_name = "CRON")]
    cron: String,
    /// The time zone, like `Europe/Berlin` [default: UTC]
    #[arg(long, value_name = "ZONE", default_value = "")]
    zone: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs, only: PutOnly) -> Result<()> {
    let put = TimerPut { cron: args.cron, zone: args.zone, target: args.target.target()? };
    let name = args.name.key(UnitKind::Timer)?.name;
    // What is wrong wherever it is sent is told before anything is.
    put.resolve(None)?;
    let mut put = shared::put(name, UnitPut::Timer(put));
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

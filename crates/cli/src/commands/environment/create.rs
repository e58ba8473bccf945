use clap::Args;
use milepost_model::UnitKind;
use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::{PutOnly, UnitPut};

use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Create an environment, or with `update` a new version of it
///
/// Functions stay on the version they are pinned to until they are updated.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NameArgs,
    /// What runs: python, node or binary, or an image name that stands for one of them
    #[arg(long, visible_alias = "image", value_name = "RUNTIME")]
    runtime: Runtime,
    /// The interpreter version to ask for
    #[arg(long, value_name = "VERSION", default_value = "")]
    interpreter: String,
    /// The command that builds packages without one of their own
    #[arg(long, value_name = "COMMAND", default_value = "")]
    builder: String,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs, only: PutOnly) -> Result<()> {
    let spec = EnvironmentSpec { runtime: args.runtime, interpreter: args.interpreter, builder: args.builder };
    let mut put = shared::put(args.name.key(UnitKind::Environment)?.name, UnitPut::Environment(spec));
    put.only = Some(only);
    shared::send(context, &args.change.change(vec![put], Vec::new())).await
}

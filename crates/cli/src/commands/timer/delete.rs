use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Remove a timer from the app
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![args.name.key(UnitKind::Timer)?], &args.change).await
}

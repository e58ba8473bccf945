use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Remove a secret from the app
///
/// Refused while a function of the app wants it.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![args.name.key(UnitKind::Secret)?], &args.change).await
}

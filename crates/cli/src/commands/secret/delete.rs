use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Remove a secret from the app
///
/// Fails if a function of the app uses the secret.
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

use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs};
use crate::context::{Context, unit_key};
use crate::failure::Result;

/// Remove the configuration from the app
///
/// Existing releases keep it. A configuration that is set later continues the version numbers.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![unit_key(UnitKind::Config, "config")?], &args.change).await
}

use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs};
use crate::context::{Context, unit_key};
use crate::failure::Result;

/// Remove the configuration from the app
///
/// Releases that hold it keep it, and a configuration that is set again goes on counting.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![unit_key(UnitKind::Config, "config")?], &args.change).await
}

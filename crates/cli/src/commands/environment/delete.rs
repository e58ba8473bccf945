use clap::Args;
use milepost_model::UnitKind;

use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Remove an environment from the app
///
/// Refused while a function or package of the app uses the environment.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![args.name.key(UnitKind::Environment)?], &args.change).await
}

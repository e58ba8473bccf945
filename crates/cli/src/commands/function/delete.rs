use clap::Args;

use super::KIND;
use crate::commands::shared::{self, ChangeArgs, NameArgs};
use crate::context::Context;
use crate::failure::Result;

/// Delete a function
///
/// Takes it out of the app with its aliases. Releases that hold it go on serving it, so that a mistake can be rolled back.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    shared::remove(context, vec![args.name.key(KIND)?], &args.change).await
}

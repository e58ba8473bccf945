use clap::Args;

use super::put::{FunctionArgs, Mode};
use crate::commands::shared::{self, ChangeArgs};
use crate::context::Context;
use crate::failure::Result;

/// Create a function
///
/// The function must be new; its code becomes a package of its own, in the same change and under the same uid.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    function: FunctionArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let puts = args.function.puts(context, Mode::Create).await?;
    shared::send(context, &args.change.change(puts, Vec::new())).await
}

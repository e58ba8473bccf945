use clap::Args;

use super::put::{FunctionArgs, Mode};
use crate::commands::shared::ChangeArgs;
use crate::context::Context;
use crate::declared::apply;
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
    let (puts, files) = args.function.puts(Mode::Create).await?;
    apply::send(context, args.change.change(puts, Vec::new()), files).await?;
    args.function.tell_group(context, &args.change);
    Ok(())
}

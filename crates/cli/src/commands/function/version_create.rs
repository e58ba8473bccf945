use clap::Args;

use super::put::{FunctionArgs, Mode};
use crate::commands::shared::ChangeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::folders;

/// Create a version, and the function if it does not exist
///
/// Creates a version even if nothing differs from the newest one. With `--pkg P --version V`, it is
/// pinned to that version of the package and takes its uid.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    function: FunctionArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    args.function.fission.warn_without_effect(context.ui);
    let (puts, files) = args.function.puts(Mode::Version).await?;
    folders::send(context, args.change.change(puts, Vec::new()), files).await?;
    args.function.tell_group(context, &args.change);
    Ok(())
}

use clap::Args;

use super::put::{FunctionArgs, Mode};
use crate::commands::shared::ChangeArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::folders;

/// Create a version based on the newest one
///
/// Options that are not given keep their values. Creates no version if nothing differs.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    function: FunctionArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    args.function.fission.warn_without_effect(context.ui);
    let (puts, files) = args.function.puts(Mode::Update).await?;
    folders::send(context, args.change.change(puts, Vec::new()), files).await?;
    args.function.tell_group(context, &args.change);
    Ok(())
}

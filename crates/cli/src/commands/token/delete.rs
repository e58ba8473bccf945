use clap::Args;

use crate::args::slots::NameArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a token
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete token {}?", args.name.name()), Unattended::Proceed)?;
    context.client.token_delete(args.name.name()).await?;
    context.ui.say(&format!("Deleted token {}.", args.name.name()));
    Ok(())
}

use clap::Args;

use crate::args::slots::NameArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a group; its versions are kept
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete group {}?", args.name.name()), Unattended::Proceed)?;
    context.client.group_delete(&context.app, args.name.name()).await?;
    context.ui.say(&format!("Group {} deleted; its versions are kept.", args.name.name()));
    Ok(())
}

use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a group, never a version
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The group
    name: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete group {}?", args.name), Unattended::Proceed)?;
    context.client.group_delete(&context.app, &args.name).await?;
    context.ui.say(&format!("Group {} is gone; no version was deleted.", args.name));
    Ok(())
}

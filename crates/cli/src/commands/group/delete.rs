use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a group; its versions are kept
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Group to delete
    name: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete group {}?", args.name), Unattended::Proceed)?;
    context.client.group_delete(&context.app, &args.name).await?;
    context.ui.say(&format!("Group {} deleted; its versions are kept.", args.name));
    Ok(())
}

use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a token
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Name of the token
    name: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete token {}?", args.name), Unattended::Proceed)?;
    context.client.token_delete(&args.name).await?;
    context.ui.say(&format!("Deleted token {}.", args.name));
    Ok(())
}

use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete an app with everything in it
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The app
    name: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.client.app_get(&args.name).await?;
    context.confirm(&format!("Delete app {} with all its versions and releases?", args.name), Unattended::Refuse)?;
    context.client.app_delete(&args.name).await?;
    context.ui.say(&format!("App {} deleted.", args.name));
    Ok(())
}

use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a webhook, but not the executions that it started
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The webhook's id, from `webhook list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let question = format!("Delete webhook {} of app {}? Its URL will return 404.", args.id, context.app);
    context.confirm(&question, Unattended::Proceed)?;
    context.client.webhook_delete(&context.app, &args.id).await?;
    context.ui.say(&format!("Deleted webhook {}.", args.id));
    Ok(())
}

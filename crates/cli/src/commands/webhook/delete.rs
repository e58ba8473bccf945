use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a webhook; what it has started stays
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Its id, as `webhook list` has it
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    let question = format!("Delete webhook {} of app {}? Its address will answer 404.", args.id, context.app);
    context.confirm(&question, Unattended::Proceed)?;
    context.client.webhook_delete(&context.app, &args.id).await?;
    context.ui.say(&format!("Webhook {} is deleted.", args.id));
    Ok(())
}

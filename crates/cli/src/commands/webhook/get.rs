use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Show a webhook; its secret is never shown again
#[derive(Debug, Args)]
pub struct GetArgs {
    /// Its id, as `webhook list` has it
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    show::one(context, context.client.webhook_get(&context.app, &args.id).await?, None)
}

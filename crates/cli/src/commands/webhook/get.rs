use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Show a webhook, without its secret
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The webhook's id, from `webhook list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    show::one(context, context.client.webhook_get(&context.app, &args.id).await?, None)
}

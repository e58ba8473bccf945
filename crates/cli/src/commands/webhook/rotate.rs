use clap::Args;
use milepost_model::webhook::WebhookChange;

use super::{secret, show};
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Replace the secret of a webhook
///
/// The new secret is shown once. Calls signed with the old secret are rejected from then on.
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// The webhook's id, from `webhook list`
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: RotateArgs) -> Result<()> {
    let question = format!("Replace the secret of webhook {}? Calls with the old one will be rejected.", args.id);
    context.confirm(&question, Unattended::Proceed)?;
    let made = secret::make();
    let change = WebhookChange { secret: Some(made.clone()), ..WebhookChange::default() };
    show::one(context, context.client.webhook_update(&context.app, &args.id, &change).await?, Some(made))
}

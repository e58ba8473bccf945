use clap::Args;
use milepost_model::webhook::WebhookChange;

use super::{secret, show};
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Give a webhook a new secret, which is shown once; calls that are signed with the old one are refused from then on
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// Its id, as `webhook list` has it
    #[arg(value_name = "ID")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: RotateArgs) -> Result<()> {
    let question = format!("Replace the secret of webhook {}? Calls with the old one will be refused.", args.id);
    context.confirm(&question, Unattended::Proceed)?;
    let made = secret::make();
    let change = WebhookChange { secret: Some(made.clone()), ..WebhookChange::default() };
    show::one(context, context.client.webhook_update(&context.app, &args.id, &change).await?, Some(made))
}

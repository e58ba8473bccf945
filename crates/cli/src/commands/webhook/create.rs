use std::path::PathBuf;

use clap::Args;
use milepost_model::webhook::NewWebhook;

use super::{secret, show};
use crate::commands::shared::TargetArgs;
use crate::context::Context;
use crate::failure::Result;

/// Create a URL that runs a function
///
/// Any client that knows the URL may call it. With `--signed`, calls must be signed with a secret.
/// `latest` and an alias are resolved at each call. Any other version is resolved now and does not
/// change.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Accept only signed calls; generates a secret and shows it once
    #[arg(long)]
    signed: bool,
    /// Accept only calls signed with the secret in this file, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "signed")]
    secret_file: Option<PathBuf>,
    /// Description of the webhook
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let target = args.target.target()?;
    let made = args.signed.then(secret::make);
    let given = args.secret_file.as_deref().map(secret::read).transpose()?;
    let new = NewWebhook {
        function: target.function,
        version: target.version,
        description: args.description,
        secret: made.clone().or(given),
    };
    show::one(context, context.client.webhook_create(&context.app, &new).await?, made)
}

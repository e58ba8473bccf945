use std::path::PathBuf;

use clap::Args;
use milepost_model::webhook::NewWebhook;

use super::{secret, show};
use crate::commands::shared::TargetArgs;
use crate::context::Context;
use crate::failure::Result;

/// Make an address that starts a function
///
/// Who knows the address may call it: with `--signed`, only who knows the secret too. `latest` and an alias are resolved at
/// each call; any other version is the one that it names now.
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Take only signed calls; the secret is made and shown once
    #[arg(long)]
    signed: bool,
    /// Take only calls that are signed with the secret in this file, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "signed")]
    secret_file: Option<PathBuf>,
    /// What this is about
    #[arg(long, value_name = "TEXT", default_value = "")]
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

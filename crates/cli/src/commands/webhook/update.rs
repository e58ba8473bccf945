use std::path::PathBuf;

use clap::Args;
use milepost_model::webhook::WebhookChange;
use milepost_model::{Selector, UnitKind, UnitName};

use super::{secret, show};
use crate::context::Context;
use crate::failure::{Failure, Result};

/// Change what a webhook runs, or whether calls must be signed
///
/// Settings that are not given stay as they are.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The webhook's id, from `webhook list`
    #[arg(value_name = "ID")]
    id: String,
    /// The function to run
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// The version to run: `latest`, a number, uid, label, `@alias` or digest
    #[arg(long, value_name = "VERSION", conflicts_with = "alias")]
    version: Option<String>,
    /// Run the version that this alias points to
    #[arg(long, value_name = "ALIAS")]
    alias: Option<String>,
    /// Accept calls without a signature
    #[arg(long, conflicts_with = "secret_file")]
    unsigned: bool,
    /// Accept only calls signed with the secret in this file, `-` for stdin
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Description of the webhook
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    let version = match (&args.alias, &args.version) {
        (Some(alias), _) => Some(Selector::Alias(alias.parse()?)),
        (None, Some(version)) => Some(version.parse()?),
        (None, None) => None,
    };
    let secret = match &args.secret_file {
        Some(path) => Some(secret::read(path)?),
        None => args.unsigned.then(String::new),
    };
    let change = WebhookChange {
        function: args.function.as_deref().map(|name| UnitName::for_kind(UnitKind::Function, name)).transpose()?,
        version,
        description: args.description,
        secret,
    };
    if change == WebhookChange::default() {
        return Err(Failure::usage("nothing to change")
            .hint("give `--function`, `--version`, `--alias`, `--description`, `--secret-file` or `--unsigned`"));
    }
    show::one(context, context.client.webhook_update(&context.app, &args.id, &change).await?, None)
}

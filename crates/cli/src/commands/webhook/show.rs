//! Webhooks as text.

use milepost_model::webhook::Webhook;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{local, printable};

/// A webhook, and its secret if it was just generated.
#[derive(Debug, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub webhook: Webhook,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

pub fn one(context: &Context<'_>, webhook: Webhook, secret: Option<String>) -> Result<()> {
    let shown = Shown { webhook, secret };
    context.ui.show(&shown, |shown| vec![shown.webhook.id.clone()], text)?;
    if shown.secret.is_some() {
        context.ui.say("Save the secret now: it is not shown again.");
    }
    Ok(())
}

fn text(shown: &Shown) -> String {
    let webhook = &shown.webhook;
    let mut lines = vec![
        format!("Webhook   {}", webhook.id),
        format!("Runs      {}", target(webhook)),
        format!("Address   {}", webhook.url),
        format!("Calls     {}", if webhook.signed { "must be signed" } else { "need no signature" }),
    ];
    if let Some(secret) = &shown.secret {
        lines.push(format!("Secret    {secret}"));
    }
    if !webhook.description.is_empty() {
        lines.push(format!("About     {}", printable(&webhook.description)));
    }
    lines.push(format!("Created   {} by {}", local(webhook.created_at), printable(&webhook.created_by)));
    lines.join("\n")
}

/// `hello @stable`, `hello version 3`
pub fn target(webhook: &Webhook) -> String {
    match webhook.version {
        Some(version) => format!("{} version {version}", webhook.function),
        None => format!("{} {}", webhook.function, webhook.selector),
    }
}

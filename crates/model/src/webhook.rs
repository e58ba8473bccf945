//! Webhooks: URLs that start an execution.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;
use crate::selector::Selector;

/// A request for a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhook {
    pub function: UnitName,
    /// `latest` and `@alias` are resolved at each call; any other selector is resolved now.
    #[serde(default)]
    pub version: Selector,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// If set, calls must be signed with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The changes to a webhook; fields left out stay as they are.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WebhookChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<UnitName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Selector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An empty value removes the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl std::fmt::Debug for NewWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secret = self.secret.as_ref().map(|_| "…");
        f.debug_struct("NewWebhook")
            .field("function", &self.function)
            .field("version", &self.version)
            .field("description", &self.description)
            .field("secret", &secret)
            .finish()
    }
}

impl std::fmt::Debug for WebhookChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secret = self.secret.as_ref().map(|_| "…");
        f.debug_struct("WebhookChange")
            .field("function", &self.function)
            .field("version", &self.version)
            .field("description", &self.description)
            .field("secret", &secret)
            .finish()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// A random UUID. Anyone who knows it may call the webhook.
    pub id: String,
    pub function: UnitName,
    pub selector: Selector,
    /// The version number that the webhook is pinned to; none if it follows `latest` or an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether calls must be signed.
    pub signed: bool,
    /// The URL to call; filled in by the server, which knows its address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// None if it was never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

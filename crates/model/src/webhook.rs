//! Webhooks: an address that starts an execution.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;
use crate::selector::Selector;

/// Asks for a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhook {
    pub function: UnitName,
    /// `latest` and `@alias` are resolved at each call; everything else is the version that it names now.
    #[serde(default)]
    pub version: Selector,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// With one, calls must be signed with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// What of a webhook is to be changed; what is left out stays.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WebhookChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<UnitName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Selector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An empty one takes the secret away.
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
    /// A random UUID: who knows it may call.
    pub id: String,
    pub function: UnitName,
    pub selector: Selector,
    /// The number of the version that the webhook is pinned to; none when it follows `latest` or an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether calls must be signed.
    pub signed: bool,
    /// Where it is called; filled in by the server, which knows its address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// None until somebody changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The tenant configuration. It is versioned as one document, whichever part of it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigSpec {
    /// Always an object.
    #[schema(value_type = Object)]
    pub document: Value,
}

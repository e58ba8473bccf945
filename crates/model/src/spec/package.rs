use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Pin, is_default};
use crate::digest::Digest;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageSpec {
    pub environment: Pin,
    /// The tree from which a build starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Digest>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub build_command: String,
    /// The tree that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_log: Option<Digest>,
}

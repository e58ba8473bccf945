use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaticSpec {
    /// Where the item is served, starting with `/`.
    pub path: String,
    pub tree: Digest,
    /// A single file, served at `path` itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub file: bool,
    #[serde(default = "index", skip_serializing_if = "is_index")]
    pub index: String,
    /// The file that answers for paths that do not exist, with 200 (single-page applications).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The file that answers for paths that do not exist, with 404.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_page: Option<String>,
    /// `/login` is `login.html`, and `/login.html` leads there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clean: bool,
    /// How long caches may keep the files; without it only those with a hash of their content in their name are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

pub const DEFAULT_INDEX: &str = "index.html";

fn index() -> String {
    DEFAULT_INDEX.to_owned()
}

fn is_index(value: &str) -> bool {
    value == DEFAULT_INDEX
}

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaticSpec {
    /// The path at which the item is served, starting with `/`.
    pub path: String,
    pub tree: Digest,
    /// The item is a single file, served at `path` itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub file: bool,
    #[serde(default = "index", skip_serializing_if = "is_index")]
    pub index: String,
    /// The file served with status 200 for paths that do not exist (single-page applications).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The file served with status 404 for paths that do not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_page: Option<String>,
    /// Serves `login.html` at `/login`, and redirects `/login.html` there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clean: bool,
    /// How long caches may keep the files. If not set, only files with a content hash in their name
    /// are cached.
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

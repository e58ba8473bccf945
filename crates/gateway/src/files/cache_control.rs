//! How long caches may keep a file.

use std::time::Duration;

use http::HeaderValue;

use crate::tree::TreeFile;
use crate::view::Mount;

const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// How long caches may keep the files of an item, whatever their names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expires(HeaderValue);

impl Expires {
    /// Counts whole seconds. Zero makes caches revalidate every time.
    pub fn after(time: Duration) -> Self {
        let value = match time.as_secs() {
            0 => HeaderValue::from_static("no-cache"),
            seconds => HeaderValue::try_from(format!("public, max-age={seconds}"))
                .unwrap_or(HeaderValue::from_static("no-cache")),
        };
        Self(value)
    }
}

/// Returns the `cache-control` of a file of this item; `None` for the gateway's default.
pub(crate) fn cache_control(mount: &Mount, file: &TreeFile) -> Option<HeaderValue> {
    match &mount.expires {
        Some(Expires(value)) => Some(value.clone()),
        None => file.hashed.then_some(IMMUTABLE),
    }
}

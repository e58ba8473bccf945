//! The API calls: one file per resource, one method per call.

mod apps;
mod artifacts;
mod builds;
mod executions;
mod functions;
mod installs;
mod jobs;
mod logs;
mod pointers;
mod status;
mod system;
mod units;
mod webhooks;

pub use artifacts::ArtifactDownload;
pub use functions::{FunctionAnswer, FunctionCall};
pub use logs::{LogQuery, LogStream};

use milepost_model::change::UnitKey;

/// The query parameters of one page of a list.
pub(crate) fn paging(limit: i64, cursor: Option<&str>) -> Vec<(&'static str, String)> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
    query
}

/// The path segments of a version.
pub fn version_path<'a>(app: &'a str, key: &'a UnitKey, selector: &'a str) -> [&'a str; 7] {
    ["apps", app, "units", key.kind.as_str(), key.name.as_str(), "versions", selector]
}

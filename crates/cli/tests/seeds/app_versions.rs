//! Lines of seed 000.

use super::Row;

/// A release with a tag, an app version without a release, and one to which live is pinned.
const BEFORE: &[&str] = &[
    "config set greeting=hi -m 'update tenant configuration' --no-release",
    "function version create --name hello --env nodejs --code hello1.js -m 'deploy functions'",
    "release live latest",
    "config set greeting=hello -m 'update tenant configuration'",
    "release tag latest beta",
];

const AFTER: &[(&str, &str, &str)] = &[
    (
        "app list-version",
        "message",
        r#"["update tenant configuration", "deploy functions", "update tenant configuration"]"#,
    ),
    ("app list-version", "release.tags", r#"[["beta"], [], null]"#),
    ("app list-version", "release.latest", "[true, false, null]"),
    ("app list-version", "release.live", "[false, true, null]"),
];

pub const ROWS: &[Row] = &[
    Row { at: "000, listing app version", line: "skycli app list-version", fill: &[], before: BEFORE, after: AFTER },
    Row { at: "000, listing app version", line: "skycli app list-history", fill: &[], before: BEFORE, after: AFTER },
];

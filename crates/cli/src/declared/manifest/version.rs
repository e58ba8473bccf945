//! The version in the manifest, for `publish`.

use std::path::Path;

use milepost_model::channel::SemVer;

use super::{Location, advice};
use crate::declared::yaml::{Content, Documents};
use crate::failure::{Failure, Result};

/// Returns `version` of a manifest, given as its file or its folder. The rest of the manifest is
/// not read: `publish` uses what is on the server.
pub fn version_of(path: &Path) -> Result<SemVer> {
    let location = Location::find(path).ok_or_else(|| {
        Failure::usage(format!(
            "no milepost.yaml found in `{}`; its `version` is the version to publish",
            path.display()
        ))
        .hint(advice(path, "publish"))
    })?;
    let shown = location.file.display();
    let text = std::fs::read_to_string(&location.file).map_err(|error| Failure::unreadable(&location.file, &error))?;
    let documents = Documents::parse(&text).map_err(|_| {
        Failure::usage(format!("`{shown}` is not valid YAML"))
            .hint("run `milepost deploy --dry-run` to see the mistake")
    })?;
    let root = documents.nodes.into_iter().next().map(|node| node.content);
    let entries = if let Some(Content::Map(entries)) = root { entries } else { Vec::new() };
    let found = entries.into_iter().find(|(key, _)| key.text == "version");
    let missing = || Failure::usage(format!("`{shown}` has no `version`")).hint("add a line like `version: 1.0.0`");
    let (key, node) = found.ok_or_else(missing)?;
    let Content::Scalar(_, text) = node.content else { return Err(missing()) };
    text.parse().map_err(|error| {
        Failure::usage(format!("{shown}:{}: `version`: {error}", key.line))
            .hint("write three numbers, like `version: 1.0.0`")
    })
}

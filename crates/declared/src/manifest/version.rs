//! The version in the manifest, for `publish`.

use std::path::Path;

use milepost_model::channel::SemVer;

use super::Location;
use crate::Place;
use crate::error::{Error, Result};
use crate::yaml::{Content, Documents};

/// Returns `version` of a manifest, given as its file or its folder. The rest of the manifest is
/// not read: `publish` uses what is on the server.
pub fn version_of(path: &Path) -> Result<SemVer> {
    let location = Location::find(path).ok_or_else(|| Error::NoManifest { path: path.to_owned() })?;
    let text = location.read()?;
    let file = location.file;
    let documents = Documents::parse(&text).map_err(|_| Error::NotYaml { file: file.clone() })?;
    let root = documents.nodes.into_iter().next().map(|node| node.content);
    let entries = if let Some(Content::Map(entries)) = root { entries } else { Vec::new() };
    let found = entries.into_iter().find(|(key, _)| key.text == "version");
    let Some((key, Content::Scalar(_, text))) = found.map(|(key, node)| (key, node.content)) else {
        return Err(Error::NoVersion { file });
    };
    text.parse().map_err(|error| Error::BadVersion { place: Place { file, line: key.line }, error })
}

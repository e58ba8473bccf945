//! The two documents of a channel, `latest` and `all`, in the seed's JSON.
//!
//! Values of these types are consistent: they were read by [`All::read`] or made by `publish` and
//! `unpublish`. Unknown fields are kept, so that an older publisher does not drop what a newer one
//! wrote.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Digest, Timestamp};

use super::name::{ArtifactId, ChannelName, PackageName};
use super::order::cmp_channel;
use super::read;
use super::semver::SemVer;

/// Limits on what is read. Ten thousand versions are one release per day for 27 years, in about 3
/// MiB.
pub const MAX_ALL_BYTES: usize = 8 << 20;
pub const MAX_LATEST_BYTES: usize = 64 << 10;
pub const MAX_VERSIONS: usize = 10_000;

/// How far a publisher's clock may be ahead of the reader's.
pub const CLOCK_TOLERANCE_S: i64 = 600;

/// A published version.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub version: SemVer,
    pub id: ArtifactId,
    #[schema(value_type = String, format = DateTime)]
    pub create_time: Timestamp,
    /// The OCI repository with the artifact, `host/path`. If not set, the artifact is in the
    /// channel's own directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    pub extra: BTreeMap<String, Value>,
}

/// The document `latest`.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    pub name: ChannelName,
    pub package: PackageName,
    pub latest: Option<Entry>,
    pub(super) extra: BTreeMap<String, Value>,
}

/// The document `all`.
#[derive(Debug, Clone, PartialEq)]
pub struct All {
    pub(super) name: ChannelName,
    pub(super) package: PackageName,
    pub(super) latest: Option<Entry>,
    /// Newest first.
    pub(super) versions: Vec<Entry>,
    /// Unpublished versions. Each may be published again only with the same digest.
    pub(super) unpublished: Vec<Entry>,
    pub(super) extra: BTreeMap<String, Value>,
}

/// Why a document is rejected, with the file and the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the channel's file `{file}` is not usable: {}{problem}", self.place())]
pub struct IndexError {
    /// `latest` or `all`.
    pub file: &'static str,
    /// A path like `versions[3].createTime`; empty if the problem concerns the whole file.
    pub field: String,
    pub problem: String,
}

impl IndexError {
    fn place(&self) -> String {
        if self.field.is_empty() { String::new() } else { format!("`{}`: ", self.field) }
    }
}

impl Entry {
    pub fn new(version: SemVer, digest: Digest, create_time: Timestamp) -> Self {
        Self { version, id: digest.into(), create_time, registry: None, extra: BTreeMap::new() }
    }

    /// Compares by the order of a channel.
    pub fn cmp_channel(&self, other: &Self) -> Ordering {
        cmp_channel((&self.version, self.create_time), (&other.version, other.create_time))
    }

    /// Whether this entry is above the other. A version is never above itself, whatever the times
    /// are.
    pub fn is_above(&self, other: &Self) -> bool {
        self.version != other.version && self.cmp_channel(other).is_gt()
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        read::entry("entry", "", value).map_err(serde::de::Error::custom)
    }
}

impl All {
    /// A channel without any published version.
    pub fn empty(name: ChannelName, package: PackageName) -> Self {
        let (versions, unpublished) = (Vec::new(), Vec::new());
        Self { name, package, latest: None, versions, unpublished, extra: BTreeMap::new() }
    }

    pub fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        read::all(bytes)
    }

    pub fn name(&self) -> &ChannelName {
        &self.name
    }

    pub fn package(&self) -> &PackageName {
        &self.package
    }

    /// The greatest version, or `None` if nothing is latest.
    pub fn latest(&self) -> Option<&Entry> {
        self.latest.as_ref()
    }

    /// Newest first.
    pub fn versions(&self) -> &[Entry] {
        &self.versions
    }

    /// The unpublished versions, newest first.
    pub fn unpublished(&self) -> &[Entry] {
        &self.unpublished
    }

    pub fn get(&self, version: &SemVer) -> Option<&Entry> {
        self.versions.iter().find(|entry| entry.version == *version)
    }

    pub fn with_digest(&self, digest: Digest) -> impl Iterator<Item = &Entry> {
        self.versions.iter().filter(move |entry| entry.id.digest() == Some(digest))
    }

    /// The document `latest` that matches this one.
    pub fn to_latest(&self) -> Latest {
        let (name, package) = (self.name.clone(), self.package.clone());
        Latest { name, package, latest: self.latest.clone(), extra: BTreeMap::new() }
    }

    /// Whether this document is older than a `latest` that was read. Publishers write `all` first,
    /// so this happens only when a cache returned a stale copy, which must be read again.
    pub fn is_behind(&self, latest: &Latest) -> bool {
        let Some(entry) = &latest.latest else { return false };
        let known = self.versions.iter().chain(&self.unpublished).any(|known| known.version == entry.version);
        !known && self.latest.as_ref().is_none_or(|ours| entry.is_above(ours))
    }

    /// Checks that this is the document of the requested channel.
    pub fn expect(&self, package: &PackageName, name: &ChannelName) -> Result<(), IndexError> {
        read::expect("all", (&self.package, package), (&self.name, name))
    }

    /// Rejects entries from the future: one of the two clocks is wrong, so no decision can be based
    /// on them.
    pub fn check_clock(&self, now: Timestamp) -> Result<(), IndexError> {
        self.versions.iter().try_for_each(|entry| read::check_clock("all", entry, now))
    }

    /// The bytes to publish. Equal documents give equal bytes.
    pub fn write(&self) -> Vec<u8> {
        written(&AllShape {
            name: &self.name,
            kind: "all",
            package: &self.package,
            latest: &self.latest,
            versions: &self.versions,
            unpublished: &self.unpublished,
            extra: &self.extra,
        })
    }
}

impl Latest {
    pub fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        read::latest(bytes)
    }

    pub fn expect(&self, package: &PackageName, name: &ChannelName) -> Result<(), IndexError> {
        read::expect("latest", (&self.package, package), (&self.name, name))
    }

    pub fn check_clock(&self, now: Timestamp) -> Result<(), IndexError> {
        self.latest.iter().try_for_each(|entry| read::check_clock("latest", entry, now))
    }

    pub fn write(&self) -> Vec<u8> {
        let (latest, extra) = (&self.latest, &self.extra);
        written(&LatestShape { name: &self.name, kind: "channel", package: &self.package, latest, extra })
    }
}

#[derive(Serialize)]
struct LatestShape<'a> {
    name: &'a ChannelName,
    #[serde(rename = "type")]
    kind: &'static str,
    package: &'a PackageName,
    latest: &'a Option<Entry>,
    #[serde(flatten)]
    extra: &'a BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct AllShape<'a> {
    name: &'a ChannelName,
    #[serde(rename = "type")]
    kind: &'static str,
    package: &'a PackageName,
    latest: &'a Option<Entry>,
    versions: &'a [Entry],
    #[serde(skip_serializing_if = "<[Entry]>::is_empty")]
    unpublished: &'a [Entry],
    #[serde(flatten)]
    extra: &'a BTreeMap<String, Value>,
}

fn written(shape: &impl Serialize) -> Vec<u8> {
    // Cannot fail: all map keys are strings, and writing to memory is infallible.
    let mut bytes = serde_json::to_vec_pretty(shape).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

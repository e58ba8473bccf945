//! Artifacts: an app in portable form. One canonical document with its units, without names of
//! versions, times or values of secrets, followed by the files that the units refer to by digest.
//!
//! The format is [`MAGIC`], the length of the document (8 bytes, little endian), the document, then
//! a pack ([`crate::pack`]) with the blobs of [`Artifact::blobs`] in that order. The id of an
//! artifact is the SHA-256 of all of it.

mod of_app;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use of_app::{Packed, Unportable};

use crate::canonical;
use crate::digest::Digest;
use crate::name::UnitName;
use crate::pack::{self, BlobKind};
use crate::unit_put::{Put, UnitPut};

/// The first bytes of an artifact; the last characters are the format number.
pub const MAGIC: [u8; 8] = *b"MPAPP001";
/// The number of bytes before the document.
pub const HEAD_LEN: usize = MAGIC.len() + 8;
/// The media type of an artifact, in registries and over HTTP.
pub const MEDIA_TYPE: &str = "application/vnd.milepost.app.v1";
pub const FORMAT: u32 = 1;
pub const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
pub const MAX_BLOBS: usize = 100_000;

/// The document at the start of an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    pub format: u32,
    /// Sorted by kind and name. Never contains a secret.
    pub units: Vec<Put>,
    /// The names of secrets that the installer must set.
    pub inputs: BTreeSet<UnitName>,
    /// The blobs after the document, sorted by digest, each once. A receiver need not store those
    /// that it already has.
    pub blobs: Vec<ArtifactBlob>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactBlob {
    pub digest: Digest,
    pub size: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directory: bool,
}

/// Why a document is invalid, even with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    #[error("it does not begin with `MPAPP001`; it is not an artifact, or was made by a later version of Milepost")]
    Magic,
    #[error("its document has {0} bytes, more than the limit of {MAX_DOCUMENT_BYTES}")]
    TooLong(u64),
    #[error("its document is invalid: {0}")]
    Document(String),
    #[error("its format is {0}, and this Milepost reads format {FORMAT}; install a newer Milepost")]
    Format(u32),
    #[error("it carries a value for the secret `{0}`, which no artifact may")]
    Secret(UnitName),
    #[error("it has {0} files, more than the limit of {MAX_BLOBS}")]
    TooMany(usize),
    #[error("its files are not listed by digest, each once")]
    Order,
}

impl ArtifactBlob {
    pub fn kind(&self) -> BlobKind {
        if self.directory { BlobKind::Directory } else { BlobKind::File }
    }
}

impl Artifact {
    /// Parses the first bytes and returns the length of the document that follows.
    pub fn document_len(head: &[u8; HEAD_LEN]) -> Result<usize, ArtifactError> {
        let (magic, length) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(ArtifactError::Magic);
        }
        let length = u64::from_le_bytes(length.try_into().map_err(|_| ArtifactError::Magic)?);
        usize::try_from(length).ok().filter(|_| length <= MAX_DOCUMENT_BYTES).ok_or(ArtifactError::TooLong(length))
    }

    pub fn read(document: &[u8]) -> Result<Self, ArtifactError> {
        let unreadable = |error: serde_json::Error| ArtifactError::Document(error.to_string());
        let value: Value = serde_json::from_slice(document).map_err(unreadable)?;
        // Checked first, because a later format has fields that this version does not know.
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format != u64::from(FORMAT) => {
                return Err(ArtifactError::Format(u32::try_from(format).unwrap_or(u32::MAX)));
            }
            _ => {}
        }
        let artifact: Self = serde_json::from_value(value).map_err(unreadable)?;
        if let Some(secret) = artifact.units.iter().find(|put| matches!(put.unit, UnitPut::Secret(_))) {
            return Err(ArtifactError::Secret(secret.name.clone()));
        }
        if artifact.blobs.len() > MAX_BLOBS {
            return Err(ArtifactError::TooMany(artifact.blobs.len()));
        }
        if !artifact.blobs.is_sorted_by(|one, next| one.digest < next.digest) {
            return Err(ArtifactError::Order);
        }
        Ok(artifact)
    }

    /// Everything before the first blob: the head, the document, and the pack's magic bytes.
    pub fn prefix(&self) -> Vec<u8> {
        let document = canonical::to_bytes(self);
        let mut bytes = Vec::with_capacity(HEAD_LEN + document.len() + pack::MAGIC.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&(document.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&document);
        bytes.extend_from_slice(&pack::MAGIC);
        bytes
    }

    /// The number of bytes after the prefix.
    pub fn blobs_len(&self) -> u64 {
        self.blobs.iter().map(|blob| pack::HEADER_LEN as u64 + blob.size).fold(0, u64::saturating_add)
    }

    /// The trees that its units refer to.
    pub fn roots(&self) -> BTreeSet<Digest> {
        let of = |put: &Put| match &put.unit {
            UnitPut::Package(package) => [package.source, package.deployment, package.build_log],
            UnitPut::Static(item) => [Some(item.tree), None, None],
            _ => [None, None, None],
        };
        self.units.iter().flat_map(of).flatten().collect()
    }

    /// The author's configuration, or an empty one.
    pub fn config(&self) -> Value {
        let mut documents = self.units.iter().filter_map(|put| match &put.unit {
            UnitPut::Config(config) => config.document.clone(),
            _ => None,
        });
        documents.next_back().unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    }

    /// The units with the installer's overrides merged into the author's configuration. Overrides
    /// alone create a configuration.
    pub fn puts(&self, overrides: &Value) -> Vec<Put> {
        let mut puts = self.units.clone();
        let mut overridden = false;
        for put in &mut puts {
            if let UnitPut::Config(config) = &mut put.unit {
                merge(config.document.get_or_insert_with(|| Value::Object(serde_json::Map::new())), overrides);
                overridden = true;
            }
        }
        if !overridden && overrides.as_object().is_some_and(|keys| !keys.is_empty()) {
            let mut document = Value::Object(serde_json::Map::new());
            merge(&mut document, overrides);
            puts.push(of_app::config_put(document));
        }
        puts
    }
}

/// Merges as in RFC 7396: objects merge, null removes, anything else replaces. A patch that is
/// itself null changes nothing.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            target.clone_from(patch);
        }
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(target) = target {
        for (key, value) in patch {
            if value.is_null() {
                target.remove(key);
            } else {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

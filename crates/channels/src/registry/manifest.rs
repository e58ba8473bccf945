//! The manifest of a published version, with the artifact as its only layer.

use std::collections::BTreeMap;

use milepost_model::Digest;
use milepost_model::channel::{PackageName, SemVer};
use serde::{Deserialize, Serialize};

pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const ARTIFACT_TYPE: &str = "application/vnd.milepost.app.v1";
/// The specification's media type for an empty configuration.
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
pub(super) const EMPTY: &[u8] = b"{}";
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u8,
    media_type: &'a str,
    artifact_type: &'a str,
    config: Descriptor<'a>,
    layers: [Descriptor<'a>; 1],
    annotations: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    media_type: &'a str,
    digest: Digest,
    size: u64,
}

/// Deterministic for each version and artifact, and different for each version.
pub(super) fn write(package: &PackageName, version: &SemVer, artifact: Digest, size: u64) -> Vec<u8> {
    let annotations = BTreeMap::from([(TITLE, package.as_str()), (VERSION, version.as_str())]);
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST_TYPE,
        artifact_type: ARTIFACT_TYPE,
        config: Descriptor { media_type: EMPTY_TYPE, digest: Digest::of(EMPTY), size: EMPTY.len() as u64 },
        layers: [Descriptor { media_type: ARTIFACT_TYPE, digest: artifact, size }],
        annotations,
    };
    // Maps have text keys, and writing to memory does not fail.
    serde_json::to_vec(&manifest).unwrap_or_default()
}

/// The identifying parts of any manifest.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub layers: Vec<Digest>,
    pub package: Option<String>,
    pub version: Option<String>,
}

impl Told {
    /// Whether [`write()`] produced this for exactly this version.
    pub fn is(&self, package: &PackageName, version: &SemVer, artifact: Digest) -> bool {
        self.layers == [artifact]
            && self.package.as_deref() == Some(package.as_str())
            && self.version.as_deref() == Some(version.as_str())
    }
}

pub(super) fn read(manifest: &[u8]) -> Told {
    #[derive(Deserialize)]
    struct Read {
        #[serde(default)]
        layers: Vec<Layer>,
        #[serde(default)]
        annotations: Option<BTreeMap<String, String>>,
    }
    #[derive(Deserialize)]
    struct Layer {
        digest: Digest,
    }
    let Ok(read) = serde_json::from_slice::<Read>(manifest) else { return Told::default() };
    let mut annotations = read.annotations.unwrap_or_default();
    Told {
        layers: read.layers.into_iter().map(|layer| layer.digest).collect(),
        package: annotations.remove(TITLE),
        version: annotations.remove(VERSION),
    }
}

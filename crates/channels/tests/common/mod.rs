//! An author with a directory, and helpers for tests.
#![expect(dead_code, clippy::unwrap_used, clippy::panic, reason = "shared by several tests, each of which uses a part")]

pub mod web;
pub mod world;

use std::path::PathBuf;
use std::sync::Arc;

use futures::TryStreamExt as _;
use milepost_channels::{
    ArtifactStream, ChannelError, LatestAnswer, Publish, Published, ReadLatest, SecretKey, Source, SourceOptions,
    Store, StoreOptions, WriteError,
};
use milepost_model::channel::{ChannelName, PackageName, SemVer};
use milepost_model::{Digest, ManualClock, Timestamp};
use tempfile::TempDir;

pub const NOW: &str = "2026-03-01T12:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub fn package() -> PackageName {
    "team/shop".parse().unwrap()
}

pub fn version(text: &str) -> SemVer {
    text.parse().unwrap()
}

pub fn channel(version: &SemVer) -> ChannelName {
    version.pre().next().map_or_else(ChannelName::stable, |name| name.parse().unwrap())
}

/// A key, and the text of its file for further stores.
pub fn key() -> (SecretKey, String) {
    SecretKey::generate(None).unwrap()
}

/// Publishes artifacts that contain the text of their version.
pub struct Author {
    pub store: Store,
    files: TempDir,
    pub registry: Option<String>,
}

impl Author {
    pub fn at(url: &str, options: StoreOptions) -> Self {
        Self { store: Store::open(url, options).unwrap(), files: tempfile::tempdir().unwrap(), registry: None }
    }

    pub fn artifact(&self, content: &str) -> (PathBuf, Digest) {
        let digest = Digest::of(content.as_bytes());
        let path = self.files.path().join(digest.hex());
        std::fs::write(&path, content).unwrap();
        (path, digest)
    }

    pub async fn publish(&self, text: &str) -> Result<Published, WriteError> {
        self.publish_as(text, &format!("the artifact of {text}")).await
    }

    pub async fn publish_as(&self, text: &str, content: &str) -> Result<Published, WriteError> {
        let version = version(text);
        let (path, digest) = self.artifact(content);
        let publish = Publish {
            package: &package(),
            channel: &channel(&version),
            version: &version,
            manifest: &version.core().parse().unwrap(),
            artifact: &path,
            digest,
            create_time: now(),
            registry: self.registry.as_deref(),
        };
        self.store.publish(&publish).await
    }

    pub async fn versions(&self, channel: &str) -> Vec<String> {
        let all = self.store.read(&package(), &channel.parse().unwrap()).await.unwrap();
        all.map(|all| all.versions().iter().map(|entry| entry.version.to_string()).collect()).unwrap_or_default()
    }
}

pub fn options() -> SourceOptions {
    SourceOptions { clock: Arc::new(ManualClock::at(now())), ..SourceOptions::default() }
}

pub async fn collect(stream: ArtifactStream) -> Result<Vec<u8>, ChannelError> {
    let chunks: Vec<_> = stream.try_collect().await?;
    Ok(chunks.concat())
}

/// Reads the current `latest`.
pub async fn latest(source: &Source) -> Result<ReadLatest, ChannelError> {
    match source.latest(None).await? {
        LatestAnswer::Read(read) => Ok(*read),
        LatestAnswer::NotModified => panic!("nothing was known"),
    }
}

pub async fn latest_version(source: &Source) -> Option<String> {
    latest(source).await.unwrap().latest.latest.map(|entry| entry.version.to_string())
}

//! Pushes an artifact to a registry under the tag of its version, and deletes the tag.

use std::io::SeekFrom;
use std::path::Path;

use bytes::Bytes;
use milepost_model::Digest;
use milepost_model::channel::{PackageName, SemVer};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use reqwest::{Method, StatusCode, Url};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::error::RegistryError;
use super::manifest::{self, MANIFEST_TYPE, Told};
use super::repository::{CHUNK, Registry};
use crate::http::whole;

const MAX_MANIFEST: u64 = 4 << 20;
const OCTETS: &str = "application/octet-stream";
/// The response header with a manifest's digest.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub tag: String,
    pub manifest: Digest,
}

impl Registry {
    /// Pushes the artifact and its manifest under the tag of the version. Existing blobs are not
    /// sent again. A tag with another artifact is refused.
    pub async fn push(
        &self,
        package: &PackageName,
        version: &SemVer,
        artifact: &Path,
        digest: Digest,
    ) -> Result<Pushed, RegistryError> {
        let tag = tag_of(version);
        if let Some((_, told)) = self.tagged(&tag).await?
            && told.layers != [digest]
        {
            return Err(RegistryError::TagTaken { repository: self.shown(), tag });
        }
        let size = tokio::fs::metadata(artifact).await?.len();
        if !self.has_blob(digest).await? {
            self.upload(Content::File(artifact), size, digest).await?;
        }
        let empty = Digest::of(manifest::EMPTY);
        if !self.has_blob(empty).await? {
            self.upload(Content::Bytes(manifest::EMPTY), manifest::EMPTY.len() as u64, empty).await?;
        }
        let bytes = manifest::write(package, version, digest, size);
        let expected = Digest::of(&bytes);
        let url = self.url(&format!("manifests/{tag}"));
        let sent =
            self.send(Method::PUT, &url, |request| request.header(CONTENT_TYPE, MANIFEST_TYPE).body(bytes.clone()));
        let response = sent.await?;
        if response.status() != StatusCode::CREATED && response.status() != StatusCode::OK {
            return Err(self.refused("the manifest", response).await);
        }
        let stored = response.headers().get(CONTENT_DIGEST).and_then(|value| value.to_str().ok());
        match stored.filter(|stored| *stored != expected.to_string()) {
            Some(found) => Err(RegistryError::Stored { registry: self.host(), expected, found: found.to_owned() }),
            None => Ok(Pushed { tag, manifest: expected }),
        }
    }

    /// Deletes the version's tag with its manifest. Returns `false` if there was none. The layers
    /// stay until the registry's garbage collection removes unreferenced ones, so versions that
    /// share the artifact keep it.
    ///
    /// Registries delete a manifest together with all of its tags. So the manifest is deleted only
    /// if it belongs to this version, and no tag of `sharing`, the other versions with this
    /// artifact, refers to it.
    pub async fn delete_tag(
        &self,
        package: &PackageName,
        version: &SemVer,
        artifact: Digest,
        sharing: &[SemVer],
    ) -> Result<bool, RegistryError> {
        let tag = tag_of(version);
        let Some((manifest, told)) = self.tagged(&tag).await? else { return Ok(false) };
        if !told.is(package, version, artifact) {
            return Err(RegistryError::TagMoved { repository: self.shown(), tag });
        }
        for other in sharing.iter().map(tag_of) {
            if self.tagged(&other).await?.is_some_and(|(named, _)| named == manifest) {
                return Err(RegistryError::TagShared { repository: self.shown(), tag, other });
            }
        }
        let url = self.url(&format!("manifests/{manifest}"));
        let response = self.send(Method::DELETE, &url, |request| request).await?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::OK | StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED => {
                Err(RegistryError::DeleteDisabled { registry: self.host(), tag })
            }
            _ => Err(self.refused("the removal of a tag", response).await),
        }
    }

    /// Returns the artifact of a version; `None` if the tag does not exist or is not an app's. A
    /// tag that was moved to another version is rejected. A manifest without a version was not
    /// written by `publish`, and is accepted by its tag alone.
    pub async fn find(&self, version: &SemVer) -> Result<Option<Digest>, RegistryError> {
        let tag = tag_of(version);
        let Some((_, told)) = self.tagged(&tag).await? else { return Ok(None) };
        let [artifact] = told.layers.as_slice() else { return Ok(None) };
        match told.version.filter(|found| found != version.as_str()) {
            Some(found) => Err(RegistryError::OtherVersion { repository: self.shown(), tag, found }),
            None => Ok(Some(*artifact)),
        }
    }

    /// Returns the manifest that has the tag, with its digest.
    async fn tagged(&self, tag: &str) -> Result<Option<(Digest, Told)>, RegistryError> {
        let url = self.url(&format!("manifests/{tag}"));
        let response = self.send(Method::GET, &url, |request| request.header(ACCEPT, MANIFEST_TYPE)).await?;
        match response.status() {
            StatusCode::OK => {
                let read = whole(response, self.host(), MAX_MANIFEST).await;
                let bytes = read
                    .map_err(|error| RegistryError::Unreachable { registry: self.host(), reason: error.to_string() })?;
                Ok(Some((Digest::of(&bytes), manifest::read(&bytes))))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused("the request for a tag", response).await),
        }
    }

    async fn has_blob(&self, digest: Digest) -> Result<bool, RegistryError> {
        let url = self.url(&format!("blobs/{digest}"));
        let response = self.send(Method::HEAD, &url, |request| request).await?;
        match response.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            // A redirect to where the bytes are stored.
            status if status.is_redirection() => Ok(true),
            _ => Err(self.refused("the request for a blob", response).await),
        }
    }

    async fn upload(&self, content: Content<'_>, size: u64, digest: Digest) -> Result<(), RegistryError> {
        let begun =
            self.send(Method::POST, &self.url("blobs/uploads/"), |request| request.header(CONTENT_LENGTH, 0)).await?;
        if begun.status() != StatusCode::ACCEPTED {
            return Err(self.refused("the start of an upload", begun).await);
        }
        let Some(mut at) = self.location(&begun) else {
            return Err(self.refused("the start of an upload", begun).await);
        };
        let mut sent = 0;
        while size - sent > CHUNK {
            let bytes = content.part(sent, CHUNK).await?;
            at = self.patch(&at, bytes, sent).await?;
            sent += CHUNK;
        }
        let rest = content.part(sent, size - sent).await?;
        // The query may already carry state of the registry.
        at.query_pairs_mut().append_pair("digest", &digest.to_string());
        let range = range(sent, rest.len() as u64);
        let put = self.send(Method::PUT, &at, |request| {
            let request = request.header(CONTENT_TYPE, OCTETS).body(rest.clone());
            if sent == 0 { request } else { request.header(CONTENT_RANGE, &range) }
        });
        let response = put.await?;
        if response.status() == StatusCode::CREATED {
            Ok(())
        } else {
            Err(self.refused("the end of an upload", response).await)
        }
    }

    async fn patch(&self, at: &Url, bytes: Bytes, sent: u64) -> Result<Url, RegistryError> {
        let range = range(sent, bytes.len() as u64);
        let patch = self.send(Method::PATCH, at, |request| {
            request.header(CONTENT_TYPE, OCTETS).header(CONTENT_RANGE, &range).body(bytes.clone())
        });
        let response = patch.await?;
        match (response.status(), self.location(&response)) {
            (StatusCode::ACCEPTED | StatusCode::CREATED | StatusCode::NO_CONTENT, Some(next)) => Ok(next),
            _ => Err(self.refused("a part of an upload", response).await),
        }
    }
}

enum Content<'a> {
    File(&'a Path),
    Bytes(&'static [u8]),
}

impl Content<'_> {
    async fn part(&self, at: u64, size: u64) -> Result<Bytes, RegistryError> {
        match self {
            Self::Bytes(bytes) => Ok(Bytes::from_static(bytes)),
            Self::File(path) => {
                let mut file = tokio::fs::File::open(path).await?;
                file.seek(SeekFrom::Start(at)).await?;
                let mut bytes = vec![0; usize::try_from(size).map_err(std::io::Error::other)?];
                file.read_exact(&mut bytes).await?;
                Ok(bytes.into())
            }
        }
    }
}

/// Formats a range as the distribution specification does: the first and the last byte.
fn range(at: u64, length: u64) -> String {
    format!("{at}-{}", (at + length).saturating_sub(1))
}

/// `publish` rejects versions that cannot be tags, so the fallback is never used.
fn tag_of(version: &SemVer) -> String {
    version.to_tag().unwrap_or_else(|_| version.as_str().replace('+', "_"))
}

//! Where channels are written: a directory, S3, or a Milepost server.

use std::path::Path;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_blobs::BlobError;
use milepost_blobs::named::{Condition, Named, NamedObject, NamedRead, Replaced};
use milepost_model::Digest;
use tokio_util::io::ReaderStream;

use super::StoreOptions;
use super::error::WriteError;
use super::server::Server;
use crate::error::ChannelError;

/// Far more files than any author has.
const MAX_LISTED: usize = 200_000;
const FILE_CHUNK: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(super) enum Place {
    Stored { named: Named, shown: String },
    Server(Server),
}

impl Place {
    pub(super) fn open(url: &str, options: &StoreOptions) -> Result<Self, WriteError> {
        if matches!(url.split_once("://"), Some(("http" | "https", _))) {
            return Ok(Self::Server(Server::open(url, options)?));
        }
        let aws = options.aws.clone().unwrap_or_else(Named::aws_variables);
        let named = Named::open(url, &aws).map_err(|error| {
            let place = url.split_once("://").map_or(url.to_owned(), |(scheme, _)| format!("{scheme}://…"));
            let reason = match error {
                BlobError::Unusable { reason, .. } => reason,
                error => error.to_string(),
            };
            ChannelError::Unusable { place, reason }
        })?;
        // Readers get this address, so it must not depend on the author's working directory.
        let absolute = || std::path::absolute(url).map_or(url.to_owned(), |path| path.display().to_string());
        let shown = if url.contains("://") { url.to_owned() } else { absolute() };
        Ok(Self::Stored { named, shown: shown.trim_end_matches('/').to_owned() })
    }

    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Stored { shown, .. } => shown,
            Self::Server(server) => server.shown(),
        }
    }

    pub(super) async fn read(&self, name: &str, limit: u64) -> Result<Option<NamedObject>, WriteError> {
        match self {
            Self::Server(server) => server.read(name, limit).await,
            Self::Stored { named, .. } => match named.read(name, None, limit).await {
                Ok(NamedRead::Found(object)) => Ok(Some(object)),
                Ok(NamedRead::Missing | NamedRead::NotModified) => Ok(None),
                Err(error) => Err(self.storage(error)),
            },
        }
    }

    pub(super) async fn replace(&self, name: &str, bytes: Bytes, when: Condition<'_>) -> Result<Replaced, WriteError> {
        match self {
            Self::Server(server) => server.replace(name, bytes, when).await,
            Self::Stored { named, .. } => named.replace(name, bytes, when).await.map_err(|error| self.storage(error)),
        }
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, WriteError> {
        match self {
            Self::Server(server) => server.size(name).await,
            Self::Stored { named, .. } => named.size(name).await.map_err(|error| self.storage(error)),
        }
    }

    /// Stores a file that is named by its digest.
    pub(super) async fn store(&self, name: &str, path: &Path, digest: Digest, size: u64) -> Result<(), WriteError> {
        match self {
            Self::Server(server) => server.store(name, path, size).await,
            Self::Stored { named, .. } => {
                let file = tokio::fs::File::open(path).await.map_err(ChannelError::File)?;
                let chunks = ReaderStream::with_capacity(file, FILE_CHUNK);
                let bytes = chunks.map_err(|error| BlobError::Interrupted(error.into())).boxed();
                named.store(name, bytes, digest, size).await.map(drop).map_err(|error| self.storage(error))
            }
        }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), WriteError> {
        match self {
            Self::Server(server) => server.delete(name).await,
            Self::Stored { named, .. } => named.delete(name).await.map_err(|error| self.storage(error)),
        }
    }

    /// Lists file names, including those of all lists.
    pub(super) async fn list(&self) -> Result<Vec<String>, WriteError> {
        match self {
            Self::Server(server) => server.list().await,
            Self::Stored { named, .. } => named.list(MAX_LISTED).await.map_err(|error| self.storage(error)),
        }
    }

    fn storage(&self, error: BlobError) -> WriteError {
        WriteError::Storage { place: self.shown().to_owned(), error }
    }
}

//! The store itself: opening, listing, deleting and checking.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_model::clock;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::backend;
use crate::error::BlobError;
use crate::pack::{PACKS, PackInfo, PackName};
use crate::room::Disk;

/// A place for blobs. Clones share it.
#[derive(Debug, Clone)]
pub struct Blobs {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// That the packs are on.
    pub(crate) disk: Disk,
}

impl Blobs {
    /// Opens a folder (a path or `file://…`, created if missing), `s3://bucket/prefix`, or
    /// `memory:`.
    ///
    /// S3 takes its credentials and endpoint from the usual `AWS_…` variables. It is not contacted
    /// here: use [`Blobs::check`]. Opening a folder removes the leftovers of uploads that a crash
    /// interrupted.
    pub fn open(url: &str) -> Result<Self, BlobError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value)));
        let aws = variables.filter(|(name, _)| name.starts_with("AWS_"));
        let options: Vec<_> = aws.filter_map(|(name, value)| Some((name, value.to_str()?.to_owned()))).collect();
        Self::open_with(url, &options)
    }

    /// Like [`Blobs::open`], with the variables passed in.
    pub fn open_with(url: &str, aws: &[(String, String)]) -> Result<Self, BlobError> {
        let (store, disk) = backend::open(url, aws)?;
        Ok(Self { store, disk })
    }

    /// Deletes a pack. Succeeds if it does not exist.
    ///
    /// Call it only after the catalog has forgotten the pack. A new upload of the same content is
    /// another pack, so there is no race.
    pub async fn delete(&self, pack: PackName) -> Result<(), BlobError> {
        match self.store.delete(&pack.path()).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(BlobError::storage("delete a pack", error)),
        }
    }

    /// Lists every published pack, unordered. A pack that appears or disappears concurrently may or
    /// may not be listed.
    pub fn list(&self) -> BoxStream<'static, Result<PackInfo, BlobError>> {
        let objects = self.store.list(Some(&Path::from(PACKS)));
        let packs = objects.try_filter_map(|object| {
            let pack = PackName::from_path(&object.location).map(|name| PackInfo {
                name,
                size: object.size,
                modified: clock::from_millis(object.last_modified.timestamp_millis()),
            });
            std::future::ready(Ok(pack))
        });
        packs.map_err(|error| BlobError::storage("list the packs", error)).boxed()
    }

    /// Checks that the store works now, by writing, reading and deleting a few bytes. Requests to
    /// an unresponsive S3 are retried for a while, so callers with a deadline must set their own
    /// timeout.
    pub async fn check(&self) -> Result<(), BlobError> {
        let probe = PackName::random();
        let path = Path::from_iter(["probe", &probe.to_string()]);
        let written = Bytes::from(probe.to_string());
        let put = self.store.put(&path, written.clone().into()).await;
        put.map_err(|error| BlobError::storage("write a probe", error))?;
        let read = self.read_probe(&path).await;
        // Deleted before the result is checked, so that a failing check leaves nothing behind.
        let deleted = self.store.delete(&path).await.map_err(|error| BlobError::storage("delete a probe", error));
        if read? != written {
            return Err(BlobError::storage("read a probe", "it came back with other bytes"));
        }
        deleted
    }

    async fn read_probe(&self, path: &Path) -> Result<Bytes, BlobError> {
        let failed = |error| BlobError::storage("read a probe", error);
        self.store.get(path).await.map_err(failed)?.bytes().await.map_err(failed)
    }
}

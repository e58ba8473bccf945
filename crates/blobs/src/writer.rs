//! Writes one pack atomically.
//!
//! A small pack is a single put. A larger one is a multipart upload, whose parts are invisible
//! until it completes. On disk that is a staged file (`<name>#1`) that is synced and renamed before
//! its directory is synced.

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, WriteMultipart};
use tokio::runtime::Handle;

use crate::error::BlobError;

/// S3 allows 10,000 parts, so this limits a pack to 78 GiB.
const PART_BYTES: usize = 8 << 20;
/// Including the part being filled, a writer holds at most this many parts plus one in memory.
const PARTS_IN_FLIGHT: usize = 3;

pub(crate) struct PackWriter {
    store: Arc<dyn ObjectStore>,
    path: Path,
    state: State,
}

enum State {
    Small { chunks: Vec<Bytes>, size: usize },
    Large(WriteMultipart),
    Ended,
}

impl PackWriter {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self { store, path, state: State::Small { chunks: Vec::new(), size: 0 } }
    }

    pub(crate) async fn put(&mut self, bytes: Bytes) -> Result<(), BlobError> {
        if let State::Small { chunks, size } = &mut self.state {
            *size += bytes.len();
            chunks.push(bytes);
            if *size <= PART_BYTES {
                return Ok(());
            }
            let begun = self.store.put_multipart(&self.path).await.map_err(failed)?;
            let mut upload = WriteMultipart::new_with_chunk_size(begun, PART_BYTES);
            std::mem::take(chunks).into_iter().for_each(|chunk| upload.put(chunk));
            self.state = State::Large(upload);
        } else if let State::Large(upload) = &mut self.state {
            upload.wait_for_capacity(PARTS_IN_FLIGHT).await.map_err(failed)?;
            upload.put(bytes);
        }
        Ok(())
    }

    /// Makes the pack visible and durable. Runs in its own task: if the caller goes away, a whole
    /// pack without a row is left, which the sweep of orphans finds, rather than parts that S3
    /// keeps but does not list.
    pub(crate) async fn publish(mut self) -> Result<(), BlobError> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let task = tokio::spawn(async move {
            match state {
                State::Small { chunks, .. } => store.put(&path, chunks.into_iter().collect::<PutPayload>()).await,
                State::Large(upload) => upload.finish().await,
                State::Ended => Err(object_store::Error::NotImplemented {
                    operation: "publishing twice".to_owned(),
                    implementer: "PackWriter".to_owned(),
                }),
            }
        });
        let published = task.await.map_err(|error| BlobError::storage("publish a pack", error))?;
        published.map(|_| ()).map_err(|error| BlobError::storage("publish a pack", error))
    }

    /// Discards what was sent. A failure is only logged: nothing became visible, and the caller
    /// already has an error to return.
    pub(crate) async fn abort(mut self) {
        if let State::Large(upload) = std::mem::replace(&mut self.state, State::Ended) {
            abort(upload, &self.path).await;
        }
    }
}

/// A request whose connection is lost is dropped without notice. S3 would keep the parts and charge
/// for them.
impl Drop for PackWriter {
    fn drop(&mut self) {
        if let State::Large(upload) = std::mem::replace(&mut self.state, State::Ended)
            && let Ok(runtime) = Handle::try_current()
        {
            let path = self.path.clone();
            runtime.spawn(async move { abort(upload, &path).await });
        }
    }
}

async fn abort(upload: WriteMultipart, path: &Path) {
    if let Err(error) = upload.abort().await {
        tracing::warn!(%path, %error, "could not take back an unfinished pack; nothing refers to it");
    }
}

fn failed(error: object_store::Error) -> BlobError {
    BlobError::storage("write a pack", error)
}

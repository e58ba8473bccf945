//! Stored content: trees and archives of it, uploads, artifacts, and copies on the local disk.

pub(crate) mod archive;
pub(crate) mod artifacts;
pub(crate) mod change;
pub(crate) mod channels;
pub(crate) mod checkout;
pub(crate) mod ingest;
pub(crate) mod ingest_source;
pub(crate) mod named_files;
pub(crate) mod trees;

use std::sync::Arc;

use milepost_blobs::named::Named;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Semaphore;

use crate::state::Store;
use trees::CheckedTrees;

/// What this room needs: the store, and what it remembers and counts.
pub(crate) struct Content {
    store: Store,
    checked_trees: CheckedTrees,
    /// One permit for each archive that may be written concurrently.
    archives: Arc<Semaphore>,
    uploaded_bytes: Counter,
    /// The channels hosted by this server.
    pub channels: Named,
}

impl Content {
    pub(crate) fn new(store: Store, channels: Named, uploaded_bytes: Counter) -> Self {
        let archives = Arc::new(Semaphore::new(archive::AT_ONCE));
        Self { store, checked_trees: CheckedTrees::default(), archives, uploaded_bytes, channels }
    }
}

impl std::ops::Deref for Content {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

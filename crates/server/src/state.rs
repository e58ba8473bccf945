//! What every handler can reach.

use std::sync::Arc;
use std::time::Duration;

use milepost_blobs::Blobs;
use milepost_catalog::Catalog;
use tokio::sync::Semaphore;

use crate::keyring::Keyring;
use crate::metrics::Metrics;
use crate::trees::CheckedTrees;

#[derive(Clone)]
pub(crate) struct State(pub Arc<Parts>);

/// What is kept, and where its bytes are.
#[derive(Clone)]
pub(crate) struct Store {
    pub catalog: Catalog,
    pub blobs: Blobs,
}

pub(crate) struct Parts {
    pub store: Store,
    pub keyring: Keyring,
    pub metrics: Metrics,
    pub sweep_grace: Duration,
    pub checked_trees: CheckedTrees,
    /// A place for each archive that may be written at the same time.
    pub archives: Arc<Semaphore>,
}

impl std::ops::Deref for State {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::ops::Deref for Parts {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

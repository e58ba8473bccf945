//! What every handler can reach.

use std::sync::Arc;
use std::time::Duration;

use milepost_blobs::Blobs;
use milepost_catalog::Catalog;

use crate::keyring::Keyring;
use crate::metrics::Metrics;

#[derive(Clone)]
pub(crate) struct State(pub Arc<Parts>);

pub(crate) struct Parts {
    pub catalog: Catalog,
    pub blobs: Blobs,
    pub keyring: Keyring,
    pub metrics: Metrics,
    pub sweep_grace: Duration,
}

impl std::ops::Deref for State {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

//! The state of a server. A room keeps its own in a struct of its own, and takes the smallest piece
//! that it needs: the [`Store`], or its struct. Only what joins rooms takes the whole [`State`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use milepost_blobs::Blobs;
use milepost_catalog::Catalog;
use milepost_gateway::Gateway;

use crate::builds::Builds;
use crate::checks::Checks;
use crate::content::Content;
use crate::executions::Executions;
use crate::installs::Installs;
use crate::keyring::Keyring;
use crate::logs::Logs;
use crate::metrics::Metrics;
use crate::serving::urls::Urls;
use crate::serving::{Plane, Views};

#[derive(Clone)]
pub(crate) struct State(pub Arc<Parts>);

/// The state, as handlers extract it.
pub(crate) type Shared = axum::extract::State<State>;

/// The store, for handlers that only read.
pub(crate) type Stored = axum::extract::State<Store>;

impl FromRef<State> for Store {
    fn from_ref(state: &State) -> Self {
        state.store.clone()
    }
}

/// The catalog, and the blobs it refers to.
#[derive(Clone)]
pub(crate) struct Store {
    pub catalog: Catalog,
    pub blobs: Blobs,
}

pub(crate) struct Parts {
    pub store: Store,
    pub content: Content,
    pub keyring: Arc<Keyring>,
    pub data: PathBuf,
    pub plane: Arc<Plane>,
    pub views: Views,
    pub logs: Arc<Logs>,
    pub urls: Urls,
    pub metrics: Metrics,
    pub sweep_grace: Duration,
    pub builds: Builds,
    pub executions: Executions,
    pub installs: Installs,
    pub checks: Checks,
    /// Used by health checks, which take the same path as a visitor's request.
    pub gateway: Gateway<Plane>,
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

//! Release checks. The new functions of a release are loaded once before it can become latest and
//! live.
//!
//! `settle` waits for a check on behalf of a request, `run` runs one check under its lease, `load`
//! loads functions, and `watch` takes over checks that another node, or this one before a restart,
//! did not finish. The catalog's transactions enforce the invariants: see
//! `docs/decisions/011-checked-releases.md`.

pub(crate) mod interpreters;
mod load;
mod run;
mod settle;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use milepost_catalog::Checking;
use milepost_model::IdSource;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use load::load_before;
pub(crate) use settle::{changed, released, settled};
pub(crate) use watch::repeat;

/// Duration of a check's lease. Renewed while the check runs, so that another node takes over only
/// if this one dies.
const LEASE_MS: i64 = 20_000;
/// Functions that this node loads concurrently, over all releases.
const AT_ONCE: usize = 16;
/// How long a stopping server waits for its checks before it leaves them to another node.
const DRAIN: Duration = Duration::from_secs(2);

/// State shared by all checks of this server.
pub(crate) struct Checks {
    /// Unique for each start of the server.
    node: String,
    leases: AtomicU64,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    /// Notified when a check ends on this node.
    ended: Notify,
    stop: CancellationToken,
}

impl Checks {
    pub(crate) fn new(ids: &dyn IdSource) -> Self {
        Self {
            node: format!("checks-{}-{}", ids.short_id(), ids.short_id()),
            leases: AtomicU64::new(0),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tasks: TaskTracker::new(),
            ended: Notify::new(),
            stop: CancellationToken::new(),
        }
    }

    /// A unique name for the holder of a lease.
    fn holder(&self) -> String {
        format!("{}-{}", self.node, self.leases.fetch_add(1, Ordering::Relaxed))
    }

    /// For a change whose release this node checks right away. Also returns the holder of the
    /// check's lease.
    pub(crate) fn asked(&self) -> (Checking, String) {
        let holder = self.holder();
        (Checking::By { holder: holder.clone(), lease_ms: LEASE_MS }, holder)
    }

    /// For a change whose release may be checked by any node.
    pub(crate) fn by_anyone(&self) -> Checking {
        Checking::By { holder: self.holder(), lease_ms: 0 }
    }

    /// Leaves running checks to another node, or to the next start.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(DRAIN, self.tasks.wait()).await.is_err() {
            tracing::warn!("a check of a release is cut off; it is taken up again when its lease has ended");
        }
    }
}

//! A release is checked before users get it: its new functions are loaded once, and only then may it become latest and live.
//!
//! `settle` waits for a check on behalf of a request, `run` is one check under its lease, `load` loads functions, `watch` takes
//! over what other nodes, or this one before a restart, left. What holds in any case is in the catalog's transactions:
//! `docs/decisions/011-checked-releases.md`.

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

/// A node that checks a release may do so for this long before another takes over; renewed while it checks.
const LEASE_MS: i64 = 20_000;
/// Functions that this node loads at the same time, of all releases.
const AT_ONCE: usize = 16;
/// What is being checked when the server stops is left to another node after this.
const DRAIN: Duration = Duration::from_secs(2);

/// What the checks of this server share.
pub(crate) struct Checks {
    /// Another one with each start.
    node: String,
    leases: AtomicU64,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    /// A check ended here.
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

    /// Whose a lease is. No two are the same.
    fn holder(&self) -> String {
        format!("{}-{}", self.node, self.leases.fetch_add(1, Ordering::Relaxed))
    }

    /// For a change whose release this node checks at once, and the holder of that check's lease.
    pub(crate) fn asked(&self) -> (Checking, String) {
        let holder = self.holder();
        (Checking::By { holder: holder.clone(), lease_ms: LEASE_MS }, holder)
    }

    /// For a change whose release is checked by whoever comes first.
    pub(crate) fn by_anyone(&self) -> Checking {
        Checking::By { holder: self.holder(), lease_ms: 0 }
    }

    /// Leaves what is being checked to another node, or to the next start.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(DRAIN, self.tasks.wait()).await.is_err() {
            tracing::warn!("a check of a release is cut off; it is taken up again when its lease has ended");
        }
    }
}

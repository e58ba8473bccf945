//! Executions on this node: claiming and running them, firing jobs and timers, and sending
//! heartbeats.
//!
//! `accept` records an execution, `worker` claims from the queue, and `attempt` runs one attempt
//! with the help of `binding`, `began` and `outcome`; `able` notes whether this node can start any.
//! `webhook` handles webhook calls, which `calls` rate-limits. `scheduler` fires jobs and timers.
//! `cluster::beat` recovers the executions of dead nodes, and `orphans` those that this node holds
//! but does not run. `docs/decisions/008-executions.md` and `017-leases-and-time.md` list what must
//! hold.

pub(crate) mod able;
mod accept;
mod attempt;
mod began;
mod binding;
mod calls;
pub(crate) mod limits;
mod orphans;
mod outcome;
pub(crate) mod scheduler;
pub(crate) mod webhook;
mod webhook_headers;
mod webhook_input;
pub(crate) mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost_catalog::Claimed;
use milepost_model::IdSource;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use accept::{Accepted, accept};
pub(crate) use attempt::Over;

use crate::state::State;

/// Polling interval, in case a notification is lost.
const LOOK: Duration = Duration::from_secs(5);
/// Further than clocks are apart.
const FAR_MS: i64 = 365 * 24 * 3600 * 1000;

/// State shared by all executions of this server.
pub(crate) struct Executions {
    /// Unique for each start, so that executions of the previous process are not taken for this
    /// one's.
    node: String,
    /// One permit for each concurrent queued execution. Synchronous executions need none.
    places: Arc<Semaphore>,
    at_once: usize,
    /// Notified when an execution is queued on this node.
    queued: Notify,
    /// Notified when a place becomes free.
    freed: Notify,
    /// Notified when jobs or timers change.
    rescheduled: Notify,
    running: Mutex<HashMap<(String, i64), CancellationToken>>,
    tasks: TaskTracker,
    calls: calls::Calls,
    pub(crate) able: able::Able,
    /// Cancelled when the drain times out: running attempts are then given back.
    cut: CancellationToken,
}

impl Executions {
    pub(crate) fn new(at_once: usize, ids: &dyn IdSource) -> Self {
        let at_once = at_once.min(Semaphore::MAX_PERMITS);
        Self {
            node: format!("{}-{}", host_name(), ids.short_id()),
            places: Arc::new(Semaphore::new(at_once)),
            at_once,
            queued: Notify::new(),
            freed: Notify::new(),
            rescheduled: Notify::new(),
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            calls: calls::Calls::default(),
            able: able::Able::default(),
            cut: CancellationToken::new(),
        }
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Whether this node runs queued executions and fires jobs and timers.
    pub(crate) fn is_worker(&self) -> bool {
        self.at_once > 0
    }

    pub(crate) fn wake_worker(&self) {
        self.queued.notify_one();
    }

    pub(crate) fn wake_scheduler(&self) {
        self.rescheduled.notify_one();
    }

    /// Cancels an execution if it runs here. Returns whether it does.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let mut found = false;
        for ((running, _), token) in self.lock().iter() {
            if running == id {
                token.cancel();
                found = true;
            }
        }
        found
    }

    /// Cancels attempts that the database does not have as this node's, after it may have lost some
    /// of what was written. Their results would not count.
    pub(crate) async fn prove(&self, state: &State) {
        let here: Vec<_> = self.lock().keys().cloned().collect();
        // Also those that have only just begun.
        let held = match state.catalog.executions_held(&self.node, -FAR_MS).await {
            Ok(held) => held,
            // Ending them finds out.
            Err(_) => return,
        };
        for attempt in here.iter().filter(|attempt| !held.contains(attempt)) {
            if let Some(token) = self.lock().get(attempt) {
                tracing::warn!(execution = attempt.0, "an execution of this node is not in the database any more");
                token.cancel();
            }
        }
    }

    /// Waits until all running attempts have ended, then gives back those that exceed the timeout.
    pub(crate) async fn drain(&self, within: Duration) {
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            tracing::warn!(running = self.lock().len(), "executions still run and are given back");
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }

    /// Whether the server is draining. The runtime may stop at any time from then on.
    fn is_stopping(&self) -> bool {
        self.tasks.is_closed()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, i64), CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt registered on this node. It can be cancelled until this is dropped.
struct Registered {
    state: State,
    key: (String, i64),
    token: CancellationToken,
}

impl Registered {
    fn new(state: &State, claimed: &Claimed) -> Self {
        let key = (claimed.execution.id.clone(), claimed.attempt);
        let token = CancellationToken::new();
        state.executions.lock().insert(key.clone(), token.clone());
        Self { state: state.clone(), key, token }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.state.executions.lock().remove(&self.key);
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "node".to_owned() } else { name.to_owned() }
}

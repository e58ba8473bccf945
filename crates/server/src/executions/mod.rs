//! Executions on this node: claiming them, running them, starting what is due, and being known to be alive.
//!
//! `accept` writes one down, `worker` takes from the queue, `attempt` runs one to its end, `binding` and `outcome` say with
//! what and how it ended; `webhook` takes calls of webhooks, which `calls` counts; `scheduler` fires jobs and timers, `beat` gives back what dead nodes had, which `watch` tells, and `orphans` what this
//! one should have and has not. `docs/decisions/008-executions.md` tells what has to hold.

mod accept;
mod attempt;
pub(crate) mod beat;
mod began;
mod binding;
mod calls;
mod orphans;
mod outcome;
pub(crate) mod scheduler;
mod watch;
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

/// How often a node looks for itself, under all that it is told.
const LOOK: Duration = Duration::from_secs(5);

/// What the executions of this server share.
pub(crate) struct Executions {
    /// Another one with each start, so that what the last one had is not taken for this one's.
    node: String,
    /// One for each execution of the queue that may run at the same time. Those that somebody waits for need none.
    places: Arc<Semaphore>,
    at_once: usize,
    /// Something was queued here.
    queued: Notify,
    /// A place is free again.
    freed: Notify,
    /// Jobs or timers are others than they were.
    rescheduled: Notify,
    running: Mutex<HashMap<(String, i64), CancellationToken>>,
    tasks: TaskTracker,
    /// Calls of webhooks.
    calls: calls::Calls,
    /// Time is up: what still runs is given back.
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
            cut: CancellationToken::new(),
        }
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Whether this node runs what is queued and fires what is due.
    pub(crate) fn is_worker(&self) -> bool {
        self.at_once > 0
    }

    /// Something is in the queue that was not.
    pub(crate) fn wake_worker(&self) {
        self.queued.notify_one();
    }

    /// Jobs or timers changed.
    pub(crate) fn wake_scheduler(&self) {
        self.rescheduled.notify_one();
    }

    /// Ends an execution if it runs here.
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

    /// Waits until everything that runs here has ended, or for so long, and lets go of the rest.
    pub(crate) async fn drain(&self, within: Duration) {
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            tracing::warn!(running = self.lock().len(), "executions still run and are given back");
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }

    /// Whether the server lets go of what runs: from then on the runtime may stop under it.
    fn is_stopping(&self) -> bool {
        self.tasks.is_closed()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, i64), CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt that this node has, and that can be cancelled, while this is held.
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

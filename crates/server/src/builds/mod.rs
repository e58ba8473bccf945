//! Builds: who may run one now, running it, and keeping what came of it.
//!
//! `run` is the way of one request; `result` makes a tree of what the command left; `log` keeps what it wrote;
//! `waiting` bounds who waits.
//! `docs/decisions/007-declarative.md` tells what has to hold.

mod log;
mod result;
mod run;
mod waiting;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use milepost_model::{AppName, Digest};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) use run::{Wanted, run};

/// Held while something is built.
type Turn = tokio::sync::Mutex<()>;

/// What the builds of this server share.
pub(crate) struct Builds {
    /// One for each build that may run at the same time.
    places: Semaphore,
    /// Builds of the same thing come one after the other: all but the first find its result.
    turns: Mutex<HashMap<(AppName, Digest), Weak<Turn>>>,
    waiting: waiting::Waiting,
    limit: Duration,
    stopping: CancellationToken,
}

impl Builds {
    pub(crate) fn new(at_once: usize, limit: Duration) -> Self {
        let places = Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS));
        let (turns, waiting, stopping) = Default::default();
        Self { places, turns, waiting, limit, stopping }
    }

    /// Ends all builds: nobody can wait for minutes until a server stops.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    fn turn(&self, app: &AppName, key: Digest) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let known = turns.entry((app.clone(), key)).or_default();
        known.upgrade().unwrap_or_else(|| {
            let fresh = Arc::default();
            *known = Arc::downgrade(&fresh);
            fresh
        })
    }
}

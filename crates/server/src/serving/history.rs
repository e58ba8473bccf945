//! Where in each app's history this node has read, and where it found that history cut. See
//! `docs/decisions/016-one-history.md`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost_catalog::Position;
use milepost_model::{AppName, Timestamp};

/// Cuts that are listed, newest last. A restore may cut all apps at once.
const LISTED: usize = 8;

#[derive(Default)]
pub(crate) struct History {
    seen: Mutex<HashMap<AppName, Seen>>,
    cuts: Mutex<Cuts>,
    reads: AtomicI64,
}

/// The current view of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub position: Position,
    /// Whether all of its releases are loaded.
    pub whole: bool,
}

#[derive(Default)]
struct Cuts {
    count: usize,
    newest: VecDeque<Cut>,
}

struct Cut {
    app: AppName,
    event: i64,
    at: Timestamp,
}

impl History {
    /// Numbers the reads of this node. Views of one app are ordered by it and not by the events
    /// that they include, because a read after a cut has fewer.
    pub(super) fn next_read(&self) -> i64 {
        self.reads.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn note(&self, app: &AppName, seen: Seen) {
        lock(&self.seen).insert(app.clone(), seen);
    }

    pub(super) fn forget(&self, app: &AppName) {
        lock(&self.seen).remove(app);
    }

    /// Every app in memory.
    pub(super) fn seen(&self) -> HashMap<AppName, Seen> {
        lock(&self.seen).clone()
    }

    /// Notes that an event which this node had read is not in the database any more.
    pub(super) fn cut(&self, app: &AppName, event: i64, at: Timestamp) {
        let mut cuts = lock(&self.cuts);
        cuts.count += 1;
        if cuts.newest.len() == LISTED {
            cuts.newest.pop_front();
        }
        cuts.newest.push_back(Cut { app: app.clone(), event, at });
    }

    /// Describes the newest cuts, and how many there were before.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let cuts = lock(&self.cuts);
        let earlier = cuts.count - cuts.newest.len();
        let mut remarks: Vec<String> = cuts
            .newest
            .iter()
            .map(|Cut { app, event, at }| {
                format!("the history of app `{app}` was cut: event {event}, which this node had read, was lost by {at}")
            })
            .collect();
        if earlier > 0 {
            remarks.push(format!("and {earlier} apps before"));
        }
        remarks
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, UNIX_EPOCH};

use milepost_model::{AppName, Digest, Timestamp};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) use run::{Wanted, run};

use crate::settings::BuildSettings;

/// What builds downloaded is kept this long after the last build that used it,
const CACHE_UNUSED: Duration = Duration::from_secs(14 * 24 * 3600);
/// and this many bytes of it for all apps together.
const CACHES: u64 = 20 << 30;

/// Held while something is built.
type Turn = tokio::sync::Mutex<()>;

/// Thousandths of a core for each build, so that all together use no more than there is; one core at least.
fn share_of_machine(at_once: usize) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from((cores * 1000 / at_once).max(1000)).unwrap_or(0)
}

/// What the builds of this server share.
pub(crate) struct Builds {
    /// One for each build that may run at the same time.
    places: Semaphore,
    /// Builds of the same thing come one after the other: all but the first find its result.
    turns: Mutex<HashMap<(AppName, Digest), Weak<Turn>>>,
    waiting: waiting::Waiting,
    limit: Duration,
    disk: u64,
    /// Thousandths of a core.
    cpu: u32,
    caches: PathBuf,
    stopping: CancellationToken,
}

impl Builds {
    pub(crate) fn new(settings: &BuildSettings, data: &Path) -> Self {
        let at_once = settings.at_once.clamp(1, Semaphore::MAX_PERMITS);
        let (turns, waiting, stopping) = Default::default();
        Self {
            places: Semaphore::new(at_once),
            turns,
            waiting,
            limit: settings.limit,
            disk: settings.disk,
            cpu: settings.cpu.unwrap_or_else(|| share_of_machine(at_once)),
            caches: data.join("cache/builds"),
            stopping,
        }
    }

    /// Removes what builds downloaded and no build has used for a while.
    pub(crate) async fn sweep_caches(&self, now: Timestamp) {
        let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millisecond()).unwrap_or(0));
        let (folder, before) = (self.caches.clone(), now.checked_sub(CACHE_UNUSED).unwrap_or(UNIX_EPOCH));
        let swept = tokio::task::spawn_blocking(move || milepost_runtime::sweep_build_caches(&folder, before, CACHES));
        if let Err(error) = swept.await.map_err(std::io::Error::other).flatten() {
            tracing::warn!(%error, "what builds downloaded could not be swept");
        }
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

//! Builds: limiting concurrency, running commands, and storing the results.
//!
//! `run` handles one request, `result` makes a tree of the command's output, `log` forwards and
//! stores what it prints, and `waiting` limits the queue. `docs/decisions/007-declarative.md` lists
//! what must hold.

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

/// How long downloads of builds are kept after the last build that used them.
const CACHE_UNUSED: Duration = Duration::from_secs(14 * 24 * 3600);
/// Maximum total size of the kept downloads of all apps, in bytes.
const CACHES: u64 = 20 << 30;

/// Held while something is built.
type Turn = tokio::sync::Mutex<()>;

/// CPU limit per build, in thousandths of a core. Splits the machine evenly between concurrent
/// builds, with a minimum of one core.
fn share_of_machine(at_once: usize) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from((cores * 1000 / at_once).max(1000)).unwrap_or(0)
}

/// State shared by all builds of this server.
pub(crate) struct Builds {
    /// One permit for each concurrent build.
    places: Semaphore,
    /// Serializes builds of the same key: all but the first find its result.
    turns: Mutex<HashMap<(AppName, Digest), Weak<Turn>>>,
    waiting: waiting::Waiting,
    limit: Duration,
    disk: u64,
    /// In thousandths of a core.
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

    /// Removes downloads of builds that have not been used for a while.
    pub(crate) async fn sweep_caches(&self, now: Timestamp) {
        let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millisecond()).unwrap_or(0));
        let (folder, before) = (self.caches.clone(), now.checked_sub(CACHE_UNUSED).unwrap_or(UNIX_EPOCH));
        let swept = tokio::task::spawn_blocking(move || milepost_runtime::sweep_build_caches(&folder, before, CACHES));
        if let Err(error) = swept.await.map_err(std::io::Error::other).flatten() {
            tracing::warn!(%error, "what builds downloaded could not be swept");
        }
    }

    /// Cancels all builds, because a stopping server cannot wait minutes for them.
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

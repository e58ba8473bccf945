//! Apps installed from channels.
//!
//! `look` reads a channel and decides, `put` fetches an artifact and makes it a version of the app,
//! and `health` checks it. `turn` is the watcher's work on one install, `person` handles users'
//! requests, `create` new installs. The rules are in `milepost_model::channel`; the catalog's
//! transactions enforce what must always hold. See `docs/decisions/010-distribution.md`.

mod create;
mod health;
mod look;
mod own;
mod person;
mod problem;
mod put;
mod reach;
mod remembered;
mod rules;
mod source;
mod times;
mod turn;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use milepost_channels::reach::Reach;
use milepost_channels::registry::Credentials;
use milepost_channels::{ChannelError, Http};
use milepost_model::IdSource;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::settings::Settings;

pub(crate) use create::follows_nothing;
pub(crate) use create::{Bundled, create, create_from_bundle, may_install};
pub(crate) use person::{plan, upgrade, upgrade_from_bundle};
pub(crate) use source::check_key;
pub use watcher::InstallsDue;
pub(crate) use watcher::repeat;

/// Recorded as the user of automatic upgrades.
pub(crate) const WATCHER: &str = "watcher";

/// State shared by all installs of this server.
pub(crate) struct Installs {
    /// Differs with each start.
    node: String,
    leases: AtomicU64,
    /// Limits how many installs are processed at once.
    places: Arc<Semaphore>,
    at_once: usize,
    /// Notified when an install may have become due.
    changed: Notify,
    tasks: TaskTracker,
    /// Where this server keeps its own channels.
    own: String,
    aws: Option<Vec<(String, String)>>,
    registries: Vec<Credentials>,
    /// The hosts that callers without the role admin may name. By default all public ones.
    reach: Reach,
    /// Connections shared by all checks: one pool for all hosts, and one for those that `reach`
    /// allows.
    http: Option<Http>,
    confined: Option<Http>,
    remembered: remembered::Remembered,
}

impl Installs {
    pub(crate) fn new(settings: &Settings, ids: &dyn IdSource) -> Self {
        let at_once = settings.installs;
        let reach = Reach::Only(settings.install_from.clone().into());
        let own = match &settings.blobs {
            Some(blobs) => format!("{}/channels", blobs.trim_end_matches('/')),
            None => settings.data.join("channels").display().to_string(),
        };
        Self {
            own,
            aws: settings.aws.clone(),
            registries: settings.registries.clone(),
            http: Http::new().ok(),
            confined: Http::within(reach.clone()).ok(),
            reach,
            remembered: remembered::Remembered::default(),
            node: format!("installs-{}-{}", ids.short_id(), ids.short_id()),
            leases: AtomicU64::new(0),
            places: Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS))),
            at_once,
            changed: Notify::new(),
            tasks: TaskTracker::new(),
        }
    }

    fn http(&self, confined: bool) -> Result<Http, ChannelError> {
        let (shared, reach) = if confined { (&self.confined, &self.reach) } else { (&self.http, &Reach::Any) };
        shared.clone().map_or_else(|| Http::within(reach.clone()), Ok)
    }

    /// Whether this node processes due installs by itself.
    pub(crate) fn is_watching(&self) -> bool {
        self.at_once > 0
    }

    /// Wakes the watcher after a user's change.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// A unique name for the holder of a lease.
    pub(crate) fn holder(&self) -> String {
        format!("{}-{}", self.node, self.leases.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits for running work, up to a limit. Another node takes over the rest when its lease
    /// expires.
    async fn drain(&self, within: Duration) {
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            tracing::warn!("an upgrade is cut off and is taken up again after the next start");
        }
    }
}

//! Apps that come from channels: what is due is looked at, decided, fetched, put into the ledger and found healthy.
//!
//! `look` reads a channel and decides; `put` fetches an artifact and makes it a version of the app; `health` asks whether it
//! is well; `turn` is what the watcher does with one install, `person` what people ask for, `create` a new one. What may
//! happen is decided in `milepost_model::channel`, and what holds in any case by the catalog's transactions:
//! `docs/decisions/010-distribution.md`.

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

/// Who holds an install may work on it for so long before somebody else may; the lease is renewed while it works.
pub(crate) const LEASE_MS: i64 = 25_000;
/// Upgrades that nobody asked for are this one's.
pub(crate) const WATCHER: &str = "watcher";

/// What the installs of this server share.
pub(crate) struct Installs {
    /// Another one with each start.
    node: String,
    leases: AtomicU64,
    /// One for each install that is looked at at the same time.
    places: Arc<Semaphore>,
    at_once: usize,
    /// Something is due that was not.
    changed: Notify,
    tasks: TaskTracker,
    /// Where this server keeps its own channels.
    own: String,
    aws: Option<Vec<(String, String)>>,
    registries: Vec<Credentials>,
    /// The hosts that tokens without administration may name; none: those of the internet.
    reach: Reach,
    /// Connections that all checks share: those that ask any host, and those that ask only what `reach` says.
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

    /// Whether this node looks at installs by itself.
    pub(crate) fn is_watching(&self) -> bool {
        self.at_once > 0
    }

    /// A person changed something: it is looked at soon.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Whose a lease is. No two are the same.
    pub(crate) fn holder(&self) -> String {
        format!("{}-{}", self.node, self.leases.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits until what is under way has ended, or for so long: what is cut off is taken up by whoever finds its lease ended.
    async fn drain(&self, within: Duration) {
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            tracing::warn!("an upgrade is cut off and is taken up again after the next start");
        }
    }
}

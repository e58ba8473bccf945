//! The ledger on SQLite or PostgreSQL: apps, units, versions, app versions, releases, pointers,
//! events, tokens, the locations of stored bytes, executions, jobs, timers and webhooks.
//!
//! This crate does not know HTTP, files or processes. It does not hold the bytes of blobs and never
//! sees a secret in the clear. Every change of an app goes through [`Work`](work::Work), which
//! locks the app's row first, numbers the events, and is one transaction: writes to one app are
//! serialised, and a crash leaves all of a change or none of it. Executions do not change an app.
//! They are accepted, claimed, ended and fired without that lock, so that many of one app run at
//! once; locks on the rows of their versions protect what they need (see `needs`).
//!
//! To add a table: write a migration for each engine, one file in `tables/`, and a case in
//! `tests/conformance`.

#[cfg(feature = "bench")]
mod bench;
#[cfg(feature = "bench")]
mod bench_executions;
mod change;
mod checking;
mod db;
mod delete;
mod effects;
mod error;
mod needs;
mod ops;
mod pinned_move;
mod queue;
mod read;
mod releasing;
mod repeated;
mod resolve;
mod rolling;
mod storage;
mod tables;
mod timers;
mod uuids;
mod words;
mod work;

use std::sync::Arc;

use milepost_model::{Clock, IdSource, Timestamp};

pub use change::{ChangeInput, SealedSecret};
pub use checking::Checking;
pub use db::{Engine, Heard};
pub use delete::VersionsToDelete;
pub use effects::{Effects, Written};
pub use error::CatalogError;
pub use ops::alias::SetAlias;
pub use ops::build::NewBuild;
pub use ops::check::{CheckLease, Checked, Settled};
pub use ops::claim::{Node, Turn};
pub use ops::execution::{Accept, Claimed, Finish};
pub use ops::fire::Fired;
pub use ops::give_back::GivenBack;
pub use ops::install::{INSTALL_DEPLOYMENT, InstallInput, InstallOutcome, VersionInput};
pub use ops::install_lease::{InstallLease, LeasedInstall};
pub use ops::install_trial::WentBack;
pub use ops::live::Rollback;
pub use ops::live::{LiveTarget, RollbackInput};
pub use ops::qinling::change::V1Change;
pub use ops::qinling::delete::V1Thing;
pub use ops::qinling::held::{V1Held, V1Holder, V1Kept};
pub use ops::rekey::RekeyedSecret;
pub use ops::rollout::{JudgedTick, NewRollout, NewTick, RolloutEvent};
pub use ops::webhook::{CalledWebhook, SecretChange};
pub use read::{App, AtMoment, Continuity, DeploymentUnits, Known, Page, PageOf, Position};
pub use read::{Serving, ServingAlias, ServingFunction, ServingFunctions, ServingRelease, ServingVersion};
pub use repeated::RequestKey;
pub use storage::SweepReport;
pub use tables::blobs::{BlobRow, NewBlob};
pub use tables::installs::CheckRecord;
pub use tables::keyed_secrets::{OldSecret, OldSecretPlace};
pub use tables::qinling::{V1Alias, V1Unit, V1Version};
pub use tables::tokens::TokenRow;

/// Handle to the ledger. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    db: db::Db,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    queues: Arc<queue::Queues>,
    /// The domain that apps are served under; empty if unknown.
    domain: Arc<str>,
}

impl Catalog {
    /// Opens the database at `url` (`postgres://…`, or the path of a SQLite file) and brings its
    /// schema up to date.
    pub async fn open(url: &str, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Result<Self, CatalogError> {
        Self::open_listening(url, None, clock, ids).await
    }

    /// Like [`Self::open`]. `listen` is the URL of a direct connection to PostgreSQL, for a `url`
    /// that leads to a pooler whose clients share sessions. Without one, changes of other servers
    /// are polled for.
    pub async fn open_listening(
        url: &str,
        listen: Option<&str>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, CatalogError> {
        let db = db::Db::open(url, listen, Arc::clone(&clock)).await?;
        let catalog = Self { db, clock, ids, queues: Arc::default(), domain: "".into() };
        catalog.adopt_timers().await?;
        Ok(catalog)
    }

    /// Sets the domain that apps are served under. Routes for hosts that do not lead to their app
    /// under this domain are then rejected.
    #[must_use]
    pub fn serving_under(self, domain: &str) -> Self {
        Self { domain: milepost_model::host::plain_domain(domain).into(), ..self }
    }

    pub fn engine(&self) -> Engine {
        self.db.engine()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The time of the database, as far as this machine's clock and the last measured difference
    /// tell. What is due is decided by [`db::Tx::now`].
    pub fn now(&self) -> Timestamp {
        milepost_model::clock::from_millis(self.clock.now().as_millisecond().saturating_sub(self.db.ahead_ms()))
    }

    pub fn ids(&self) -> &Arc<dyn IdSource> {
        &self.ids
    }

    /// Receives notifications of changes that other servers over the same database make.
    pub fn listen(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        self.db.listen()
    }

    /// Receives notifications from other servers that executions may need to be run or cancelled. A
    /// notification carries no details. On SQLite there are no other servers: the channel is
    /// closed.
    pub fn listen_executions(&self) -> tokio::sync::mpsc::Receiver<Heard> {
        self.db.listen_executions()
    }

    /// By how many milliseconds this machine's clock is ahead of the database's, as the last
    /// transaction measured it. 0 on SQLite.
    pub fn clock_ahead_ms(&self) -> i64 {
        self.db.ahead_ms()
    }

    /// Checks that the database responds.
    pub async fn ping(&self) -> Result<(), CatalogError> {
        self.db.ping().await
    }
}

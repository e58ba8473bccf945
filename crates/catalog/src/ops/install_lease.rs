//! Leases on installs: one holder at a time, until the lease ends. Writes of a holder that lost its
//! lease are rejected. Leases are judged by the database's clock.

use milepost_model::clock::from_millis;
use milepost_model::install::Install;
use milepost_model::refusal::View;
use milepost_model::{AppName, Code, Next, Refusal, Timestamp};

use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::ops::install::not_installed;
use crate::read::install_view;
use crate::tables::apps::{self, AppRow};
use crate::tables::installs::{self, CheckRecord, InstallRow, Moments};
use crate::work::Work;

/// The right to work on an install.
#[derive(Debug, Clone)]
pub struct InstallLease {
    pub app: AppName,
    app_id: i64,
    token: String,
    actor: String,
}

/// An install with a lease on it.
#[derive(Debug, Clone)]
pub struct LeasedInstall {
    pub lease: InstallLease,
    pub install: Install,
    /// The highest serial that was seen.
    pub serial: u64,
    pub revision: i64,
}

impl InstallLease {
    pub(super) fn new(app_id: i64, app: AppName, holder: &str, actor: &str) -> Self {
        Self { app, app_id, token: format!("{holder}/{app_id}"), actor: actor.to_owned() }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn actor(&self) -> String {
        self.actor.clone()
    }

    pub(super) fn until(&self, now: Timestamp, lease_ms: i64) -> Timestamp {
        until(now, lease_ms)
    }
}

fn until(now: Timestamp, lease_ms: i64) -> Timestamp {
    from_millis(now.as_millisecond().saturating_add(lease_ms))
}

impl Catalog {
    /// Takes installs that are due and not leased. `holder` differs with each call.
    pub async fn installs_take_due(
        &self,
        holder: &str,
        actor: &str,
        lease_ms: i64,
        limit: i64,
    ) -> Result<Vec<LeasedInstall>> {
        let (holder, actor) = (holder.to_owned(), actor.to_owned());
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let moments = Moments::at(tx.now(), lease_ms);
                    let taken = installs::take_due(tx, &holder, moments, limit).await?;
                    let mut found = Vec::with_capacity(taken.len());
                    for id in taken {
                        let Some(name) = apps::name_of(tx, id).await? else { continue };
                        let app = apps::get(tx, &name).await?;
                        if let Some(row) = installs::find(tx, id).await? {
                            let lease = InstallLease::new(id, name, &holder, &actor);
                            found.push(leased(tx, &app, row, lease).await?);
                        }
                    }
                    Ok(found)
                })
            })
            .await
    }

    /// Takes one install on behalf of a user. Rejected while another holder works on it.
    pub async fn install_take(&self, app: &AppName, holder: &str, actor: &str, lease_ms: i64) -> Result<LeasedInstall> {
        let (app, holder, actor) = (app.clone(), holder.to_owned(), actor.to_owned());
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let moments = Moments::at(tx.now(), lease_ms);
                    let taken = installs::take(tx, app.id, &holder, moments).await?;
                    let Some(row) = installs::find(tx, app.id).await? else {
                        return Err(not_installed(&app.name).into());
                    };
                    if !taken {
                        return Err(busy(&app.name, row.lease_until).into());
                    }
                    let lease = InstallLease::new(app.id, app.name.clone(), &holder, &actor);
                    leased(tx, &app, row, lease).await
                })
            })
            .await
    }

    /// Extends a lease. Returns false if it has ended: nothing may be done under it any more.
    pub async fn install_renew(&self, lease: &InstallLease, lease_ms: i64) -> Result<bool> {
        let lease = lease.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.now();
                    installs::renew(tx, lease.app_id, &lease.token, now, until(now, lease_ms)).await
                })
            })
            .await
    }

    /// Ends a lease and records the result. Returns false, and writes nothing, if it had ended
    /// before.
    pub async fn install_give_back(&self, lease: &InstallLease, record: CheckRecord) -> Result<bool> {
        let lease = lease.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move { installs::give_back(tx, lease.app_id, &lease.token, &record).await })
            })
            .await
    }

    /// Ends a lease without a result.
    pub async fn install_let_go(&self, lease: &InstallLease) -> Result<()> {
        let lease = lease.clone();
        self.db.write(move |tx| Box::pin(async move { installs::let_go(tx, lease.app_id, &lease.token).await })).await
    }

    /// Ends all leases. For the start of a server that has the database to itself: previous holders
    /// are gone.
    pub async fn installs_end_leases(&self) -> Result<()> {
        self.db.write(|tx| Box::pin(async move { installs::end_leases(tx).await })).await
    }

    /// Makes every install that follows a channel due now.
    pub async fn installs_make_due(&self) -> Result<()> {
        self.db
            .write(|tx| {
                Box::pin(async move {
                    let now = tx.now();
                    installs::make_due(tx, now).await
                })
            })
            .await
    }

    /// Returns when the next install is due for a caller that takes leases of this length.
    pub async fn installs_earliest(&self, lease_ms: i64) -> Result<Option<Timestamp>> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let moments = Moments::at(tx.now(), lease_ms);
                    installs::earliest(tx, moments).await
                })
            })
            .await
    }
}

fn busy(app: &AppName, until: Option<Timestamp>) -> Refusal {
    let until = until.map_or_else(String::new, |until| format!(", until {until} at the latest"));
    Refusal::new(Code::InstallBusy, format!("app `{app}` is being checked or upgraded{until}"))
        .next(Next::Wait)
        .see(View::InstallStatus)
}

/// Returns the install, if the lease is still held.
pub(super) async fn held(work: &mut Work<'_>, lease: &InstallLease) -> Result<InstallRow> {
    let Some(row) = installs::lock(work.tx, work.app.id).await? else {
        return Err(not_installed(&work.app.name).into());
    };
    let ours = row.lease.as_deref() == Some(lease.token()) && row.lease_until.is_some_and(|until| until > work.act.at);
    if ours { Ok(row) } else { Err(busy(&work.app.name, row.lease_until).into()) }
}

/// Like [`held`], but also rejects if the install changed since the holder read it: a user's hold,
/// rollback or new policy overrides what was decided before.
pub(super) async fn held_since(work: &mut Work<'_>, lease: &InstallLease, revision: i64) -> Result<InstallRow> {
    let row = held(work, lease).await?;
    if row.revision == revision {
        return Ok(row);
    }
    let message =
        format!("the install settings of app `{}` were changed while its next version was fetched", work.app.name);
    Err(Refusal::new(Code::InstallBusy, message).see(View::InstallStatus).next(Next::Retry).into())
}

pub(super) async fn leased(tx: &mut Tx, app: &AppRow, row: InstallRow, lease: InstallLease) -> Result<LeasedInstall> {
    let (serial, revision) = (row.serial, row.revision);
    Ok(LeasedInstall { lease, install: install_view(tx, app, row).await?, serial, revision })
}

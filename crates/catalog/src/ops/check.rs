//! Checks of releases: which functions a check loads, which node runs it, and how it ends.

use std::collections::HashMap;

use milepost_model::check::{CheckState, FunctionCheck};
use milepost_model::release::{Release, ReleaseState};
use milepost_model::{AppName, Timestamp, Warning};

use crate::checking::{self, Ending as CheckEnding};
use crate::db::{Ending, Tx};
use crate::effects::Written;
use crate::error::Result;
use crate::read::ServingFunctions;
use crate::tables::apps;
use crate::tables::release_checks::{self, Holder, Report, Taken};
use crate::tables::releases::{self, ReleaseRow};
use crate::{Catalog, releasing};

/// The right to check a release. Results are rejected if another holder has taken the check
/// meanwhile.
#[derive(Debug, Clone)]
pub struct CheckLease {
    pub app: AppName,
    /// The release's id, as users know it.
    pub release: String,
    release_id: i64,
    holder: String,
}

/// A release with the current result of its check.
#[derive(Debug, Clone)]
pub struct Checked {
    pub release: Release,
    /// Releases that expired to make room when it passed.
    pub expired: Vec<String>,
    pub notices: Vec<Warning>,
}

/// The outcome of settling a check.
#[derive(Debug, Clone)]
pub enum Settled {
    Done(Box<Checked>),
    /// Latest moved, so more functions must be loaded than were.
    Again,
    /// Another holder has the lease, or the check had ended.
    NotHeld,
}

impl Checked {
    /// Reports whether the release still waits for its check.
    pub fn is_pending(&self) -> bool {
        self.release.check.state == CheckState::Pending && self.release.state == ReleaseState::Active
    }
}

impl Catalog {
    /// Returns a release, the result of its check, and the releases that expired for it.
    pub async fn check_get(&self, app: &AppName, release: &str) -> Result<Checked> {
        let release = release.to_owned();
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let row = releasing::find(tx, &app, &release).await?;
                checked(tx, &app, &row).await
            })
        })
        .await
    }

    /// Returns the lease that a release was made under with [`Checking::By`](crate::Checking::By),
    /// or takes one. `None` if another holder has it, or there is nothing to check.
    pub async fn check_take(
        &self,
        app: &AppName,
        release: &str,
        holder: &str,
        lease_ms: i64,
    ) -> Result<Option<CheckLease>> {
        let (app, release, holder) = (app.clone(), release.to_owned(), holder.to_owned());
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let row = apps::get(tx, &app).await?;
                    let Some(row) = releases::find_by_name(tx, row.id, &release).await? else { return Ok(None) };
                    let by = Holder { token: &holder, lease_ms };
                    let held = release_checks::renew(tx, row.id, by.clone()).await?
                        || release_checks::take(tx, row.id, by).await?;
                    Ok(held.then_some(CheckLease { app, release, release_id: row.id, holder }))
                })
            })
            .await
    }

    /// Takes pending checks without a lease. `holder` differs with each call.
    pub async fn checks_take_due(&self, holder: &str, lease_ms: i64, limit: i64) -> Result<Vec<CheckLease>> {
        // The read first keeps idle servers from writing every few seconds.
        if !self.db.read(|tx| Box::pin(async move { release_checks::is_any_due(tx).await })).await? {
            return Ok(Vec::new());
        }
        let holder = holder.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let taken = release_checks::take_due(tx, Holder { token: &holder, lease_ms }, limit).await?;
                    let mut leases = Vec::with_capacity(taken.len());
                    for Taken { id, app_id, name } in taken {
                        if let Some(app) = apps::name_of(tx, app_id).await? {
                            let holder = holder.clone();
                            leases.push(CheckLease { app, release: name, release_id: id, holder });
                        }
                    }
                    Ok(leases)
                })
            })
            .await
    }

    /// Extends a lease. Returns false if another holder has it, or the check has ended.
    pub async fn check_renew(&self, lease: &CheckLease, lease_ms: i64) -> Result<bool> {
        let lease = lease.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let by = Holder { token: &lease.holder, lease_ms };
                    release_checks::renew(tx, lease.release_id, by).await
                })
            })
            .await
    }

    /// Ends a lease without a result. Another node may check the release at once.
    pub async fn check_let_go(&self, lease: &CheckLease) -> Result<()> {
        let lease = lease.clone();
        self.db
            .write(move |tx| Box::pin(async move { release_checks::let_go(tx, lease.release_id, &lease.holder).await }))
            .await
    }

    /// Ends all leases. For the start of a server that has the database to itself: previous holders
    /// are gone.
    pub async fn checks_end_leases(&self) -> Result<()> {
        self.db.write(|tx| Box::pin(async move { release_checks::end_leases(tx).await })).await
    }

    /// Returns the functions that a check loads, with everything that the release binds to them.
    /// `None` if there is nothing to check any more.
    pub async fn check_functions(&self, lease: &CheckLease) -> Result<Option<ServingFunctions>> {
        let release = lease.release_id;
        self.look(&lease.app, move |tx, app| {
            Box::pin(async move {
                let row = releases::get(tx, release).await?;
                if !is_waiting(&row) {
                    return Ok(None);
                }
                let latest = match app.latest_release_id {
                    Some(id) => Some(releases::get(tx, id).await?.app_seq),
                    None => None,
                };
                let wanted = release_checks::new_functions(tx, app.id, row.app_seq, latest).await?;
                crate::read::functions_at(tx, app, row.app_seq, wanted).await.map(Some)
            })
        })
        .await
    }

    /// Ends a check with the results, by the row id of each function version. If nothing failed,
    /// latest moves to the release if it is the newest, live follows, and the oldest releases
    /// expire to make room.
    pub async fn check_settle(
        &self,
        lease: &CheckLease,
        found: HashMap<i64, FunctionCheck>,
    ) -> Result<Written<Settled>> {
        let lease = lease.clone();
        let (actor, app) = (self.check_actor(&lease).await?, lease.app.clone());
        self.work(&app, &actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let row = releases::get(work.tx, lease.release_id).await?;
                let held = release_checks::get(work.tx, row.id).await?.lease;
                if !is_waiting(&row) || held.as_deref() != Some(&lease.holder) {
                    return Ok(Settled::NotHeld);
                }
                match checking::settle(work, &row, found).await? {
                    CheckEnding::Again => Ok(Settled::Again),
                    CheckEnding::Settled => {
                        let row = releases::get(work.tx, row.id).await?;
                        Ok(Settled::Done(Box::new(checked(work.tx, &work.app, &row).await?)))
                    }
                }
            })
        })
        .await
    }

    /// Returns the user who made the release: pointers move in that user's name, whichever node
    /// checks it.
    async fn check_actor(&self, lease: &CheckLease) -> Result<String> {
        let release = lease.release_id;
        self.db.read(move |tx| Box::pin(async move { Ok(releases::get(tx, release).await?.created_by) })).await
    }

    /// Returns the database's own time, which the leases of checks use.
    pub async fn database_time(&self) -> Result<Timestamp> {
        self.db.read(|tx| Box::pin(async move { release_checks::database_time(tx).await })).await
    }
}

/// A release that expired meanwhile is not checked: a version that it holds may be deleted.
fn is_waiting(row: &ReleaseRow) -> bool {
    row.check == CheckState::Pending && row.state == ReleaseState::Active
}

async fn checked(tx: &mut Tx, app: &apps::AppRow, row: &ReleaseRow) -> Result<Checked> {
    let release = releasing::view(tx, app, row).await?;
    let report = match row.check {
        CheckState::None => Report::default(),
        _ => release_checks::get(tx, row.id).await?.report,
    };
    let mut notices = Vec::new();
    if report.lost_pin && !release.live {
        notices.push(Warning::LiveMovedMeanwhile { release: row.name.clone() });
    }
    Ok(Checked { release, expired: report.expired, notices })
}

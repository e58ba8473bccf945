//! Trials: how a version proves healthy, before live moves to it and after, and the rollback if it
//! does not.
//!
//! A version is on trial while `trial_seq` is set to the app version to go back to. With
//! `rollback_pin`, live has not moved yet. Without it, live has moved (or a user moved it
//! elsewhere). A server that takes over the lease of a dead one continues from there.

use std::collections::BTreeSet;

use milepost_model::UnitKind;
use milepost_model::channel::Entry;
use milepost_model::event::EventKind;
use milepost_model::install::{FailedUpgrade, RollbackHolds};
use milepost_model::pointer::Step;
use milepost_model::release::{LiveMode, Release};
use serde_json::json;

use super::install::{live_seq, looked_at, not_installed, subject, unpin};
use super::install_lease::{InstallLease, LeasedInstall, held, leased};
use super::live::{Target, make_reachable};
use super::release::{check_releasable, no_room_by_hand};
use crate::db::{Ending, Tx};
use crate::effects::{Effects, Written};
use crate::error::Result;
use crate::tables::installs::{self, InstallRow};
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::{memberships, units};
use crate::work::Work;
use crate::{Catalog, releasing};

/// What happened to a version that is not healthy.
#[derive(Debug, Clone, PartialEq)]
pub enum WentBack {
    /// Live is at this version again.
    To(Entry),
    /// Live was at this version and did not move.
    Stayed(Entry),
    /// There was no version before it.
    Nowhere,
    /// A user moved live during the trial: there is nothing to undo.
    NoLongerOnTrial,
}

impl Catalog {
    /// Returns the release whose address is probed before live moves to the installed version: the
    /// newest one with its code. If all of them have expired to make room, which says nothing about
    /// the version, it is released again, and the flag is true.
    pub async fn install_trial_release(&self, lease: &InstallLease) -> Result<Written<(Release, bool)>> {
        let found = self
            .look(&lease.app, |tx, app| {
                Box::pin(async move {
                    let row = installs::find(tx, app.id).await?.ok_or_else(|| not_installed(&app.name))?;
                    match newest_holding(tx, &row).await? {
                        Some(release) => releasing::view(tx, &app, &release).await.map(Some),
                        None => Ok(None),
                    }
                })
            })
            .await?;
        if let Some(release) = found {
            return Ok(Written::new((release, false), Effects::default()));
        }
        let lease = lease.clone();
        self.work(&lease.app.clone(), &lease.actor(), Ending::Commit, move |work| {
            Box::pin(async move {
                let row = held(work, &lease).await?;
                let (release, again) = match newest_holding(work.tx, &row).await? {
                    Some(release) => (release, false),
                    None => {
                        let why = format!("{} {} is on trial", row.package, row.entry.version);
                        (release_again(work, &row, &why).await?, true)
                    }
                };
                Ok((releasing::view(work.tx, &work.app, &release).await?, again))
            })
        })
        .await
    }

    /// Records that the installed version is healthy where it was probed. If live waited for that,
    /// live moves, and the version stays on trial until it is healthy there too. Otherwise the
    /// trial ends.
    pub async fn install_healthy(&self, lease: &InstallLease) -> Result<Written<LeasedInstall>> {
        let lease = lease.clone();
        self.work(&lease.app.clone(), &lease.actor(), Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = held(work, &lease).await?;
                if row.waits_for_live() {
                    go_live(work, &mut row).await?;
                } else if row.trial_seq.take().is_some() {
                    row.succeeded();
                }
                installs::save(work.tx, &mut row).await?;
                leased(work.tx, &work.app, row, lease).await
            })
        })
        .await
    }

    /// Records that the installed version is not healthy: live stays at its previous version or
    /// goes back to it, the version is skipped, and upgrades are held.
    pub async fn install_unhealthy(
        &self,
        lease: &InstallLease,
        why: String,
    ) -> Result<Written<(LeasedInstall, WentBack)>> {
        let lease = lease.clone();
        self.work(&lease.app.clone(), &lease.actor(), Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = held(work, &lease).await?;
                let went = go_back(work, &mut row, &why).await?;
                if went != WentBack::NoLongerOnTrial {
                    installs::save(work.tx, &mut row).await?;
                }
                Ok((leased(work.tx, &work.app, row, lease).await?, went))
            })
        })
        .await
    }
}

impl InstallRow {
    /// The version is on trial, and users still have the previous one.
    pub(super) fn waits_for_live(&self) -> bool {
        self.trial_seq.is_some() && self.rollback_pin
    }

    /// The installed version stays. Forgets a failed version unless it is higher.
    pub(super) fn succeeded(&mut self) {
        let version = &self.entry.version;
        self.failed = self.failed.take().filter(|failed| failed.version.cmp_precedence(version).is_gt());
    }
}

/// Returns the newest active release of the version on trial. A release with a secret or a
/// configuration that was set during the trial counts. One with other code does not, because its
/// failure says nothing about the published version.
async fn newest_holding(tx: &mut Tx, row: &InstallRow) -> Result<Option<ReleaseRow>> {
    let mut active = releases::active(tx, row.app_id).await?;
    active.retain(|release| release.app_seq >= row.app_seq);
    for release in active.iter().rev() {
        if has_same_code(tx, row, release.app_seq).await? {
            return Ok(Some(release.clone()));
        }
    }
    // All releases of the version have expired to make room.
    Ok(active.into_iter().rev().find(|release| !release.check.holds_back()))
}

/// Reports whether an app version differs from the installed one in secrets and configuration only.
async fn has_same_code(tx: &mut Tx, row: &InstallRow, seq: i64) -> Result<bool> {
    if seq == row.app_seq {
        return Ok(true);
    }
    let mut installed = BTreeSet::new();
    for member in memberships::at(tx, row.app_id, row.app_seq).await? {
        installed.insert((member.unit_id, member.version_id));
    }
    let mut other = BTreeSet::new();
    for member in memberships::at(tx, row.app_id, seq).await? {
        other.insert((member.unit_id, member.version_id));
    }
    for (unit_id, _) in installed.symmetric_difference(&other) {
        let kind = units::find_by_id(tx, *unit_id).await?.kind;
        if !matches!(kind, UnitKind::Secret | UnitKind::Config) {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn release_again(work: &mut Work<'_>, row: &InstallRow, why: &str) -> Result<ReleaseRow> {
    check_releasable(work, row.app_seq).await?;
    Ok(releasing::create(work, row.app_seq, why).await.map_err(|error| no_room_by_hand(&work.app.name, error))?.0)
}

async fn go_live(work: &mut Work<'_>, row: &mut InstallRow) -> Result<()> {
    let why = format!("{} {} is healthy", row.package, row.entry.version);
    unpin(work, row);
    // Live follows from here on, so it must point at the newest release. If that one is of an older
    // app version, a new one is made.
    let newest = releases::newest_reachable(work.tx, work.app.id).await?.filter(|newest| newest.app_seq >= row.app_seq);
    let release = match newest {
        Some(newest) => newest,
        None => release_again(work, row, &why).await?,
    };
    if work.app.live_release_id != Some(release.id) {
        releasing::move_live(work, Some(release.id), Step::Forward, &why).await?;
    }
    Ok(())
}

async fn go_back(work: &mut Work<'_>, row: &mut InstallRow, why: &str) -> Result<WentBack> {
    let Some(seq) = row.trial_seq.take() else { return Ok(WentBack::NoLongerOnTrial) };
    let why = format!("{} {} is not healthy: {why}", row.package, row.entry.version);
    // There is no version before the first one, and none at 0.
    let Some((_, before)) = installs::version_at(work.tx, work.app.id, seq).await? else {
        row.failed = Some(FailedUpgrade { version: row.entry.version.clone(), at: work.act.at, reason: why });
        return Ok(WentBack::Nowhere);
    };
    // Only what the upgrade moved goes back: live may be pinned elsewhere. A secret that was set
    // meanwhile made another app version, which holds the same published version.
    let live = match live_seq(work).await? {
        Some(live) => installs::version_at(work.tx, work.app.id, live).await?,
        None => None,
    };
    let mut moved = false;
    if live.is_some_and(|(_, entry)| entry.version == row.entry.version) {
        work.app.live_mode = LiveMode::Pinned;
        let (release, ..) = make_reachable(work, Target::AppVersion(seq), &why).await?;
        if work.app.live_release_id != Some(release.id) {
            releasing::move_live(work, Some(release.id), Step::Back, &why).await?;
            moved = true;
        }
        row.rollback_pin = true;
    }
    set_back(work, row, (seq, before.clone()), &why);
    Ok(if moved { WentBack::To(before) } else { WentBack::Stayed(before) })
}

/// Sets the brakes after live went to a lower version, and records the move.
pub(super) fn set_back(work: &mut Work<'_>, row: &mut InstallRow, to: (i64, Entry), why: &str) {
    let stays = row.settings.rollback_holds == RollbackHolds::UntilLifted;
    let bad = row.entry.version.clone();
    if to.1.is_above(&row.entry) {
        // After a manual downgrade to an unhealthy version: the version before it is no longer
        // skipped, and the hold that the downgrade set ends.
        row.brakes.skipped.retain(|skipped| *skipped != to.1.version && *skipped != bad);
        row.brakes.skipped.push(bad.clone());
        row.brakes.hold = None;
    } else {
        row.brakes.roll_back(bad.clone(), stays, why, work.act.at);
    }
    row.failed = Some(FailedUpgrade { version: bad.clone(), at: work.act.at, reason: why.to_owned() });
    (row.app_seq, row.entry) = to;
    row.installed_at = work.act.at;
    row.installed_by.clone_from(&work.act.actor);
    row.trial_seq = None;
    row.plan = None;
    row.next_check_at = looked_at(row, work.act.at);
    let hold = row.brakes.hold.as_ref().map(ToString::to_string);
    let after = json!({ "version": row.entry.version, "skipped": bad, "hold": hold });
    work.event(EventKind::InstallHeld, &subject(row), Some(json!({ "version": bad })), Some(after));
}

//! Adjusts an install after a user moved live.

use milepost_model::event::EventKind;
use milepost_model::release::LiveMode;
use serde_json::json;

use super::install::{looked_at, subject};
use super::install_trial::set_back;
use crate::error::Result;
use crate::tables::installs::{self, InstallRow};
use crate::tables::releases;
use crate::work::Work;

/// Called after a user moved live. A move to a lower published version is a rollback: the version
/// that was left is skipped, and upgrades are held. A move to a higher one means that the user
/// accepts that version after all.
pub(crate) async fn live_moved(work: &mut Work<'_>, why: &str) -> Result<()> {
    let Some(id) = work.app.live_release_id else { return Ok(()) };
    let Some(mut row) = installs::lock(work.tx, work.app.id).await? else { return Ok(()) };
    let seq = releases::get(work.tx, id).await?.app_seq;
    let Some((first, entry)) = installs::version_at(work.tx, work.app.id, seq).await? else { return Ok(()) };
    if entry.version == row.entry.version {
        return take_pin(work, row).await;
    }
    if row.entry.is_above(&entry) {
        row.rollback_pin = work.app.live_mode == LiveMode::Pinned;
        let why = format!("{why}, by {}", work.act.actor);
        set_back(work, &mut row, (first, entry), &why);
    } else {
        let before = json!({ "version": row.entry.version, "brakes": row.brakes });
        if row.brakes.skipped.contains(&entry.version) {
            row.brakes.skipped.retain(|skipped| *skipped != entry.version);
            row.brakes.hold = None;
        }
        (row.app_seq, row.entry) = (first, entry);
        row.succeeded();
        row.installed_at = work.act.at;
        row.installed_by.clone_from(&work.act.actor);
        row.rollback_pin = false;
        row.trial_seq = None;
        row.plan = None;
        row.next_check_at = looked_at(&row, work.act.at);
        let after = json!({ "version": row.entry.version, "brakes": row.brakes });
        work.event(EventKind::InstallLifted, &subject(&row), Some(before), Some(after));
    }
    installs::save(work.tx, &mut row).await
}

/// Called after a user pinned live where it is.
pub(crate) async fn live_kept(work: &mut Work<'_>) -> Result<()> {
    match installs::lock(work.tx, work.app.id).await? {
        Some(row) => take_pin(work, row).await,
        None => Ok(()),
    }
}

/// Live was waiting for a version on trial. The user has now decided where live stays, so it no
/// longer waits.
async fn take_pin(work: &mut Work<'_>, mut row: InstallRow) -> Result<()> {
    if row.waits_for_live() {
        row.rollback_pin = false;
        installs::save(work.tx, &mut row).await?;
    }
    Ok(())
}

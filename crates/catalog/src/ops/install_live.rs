//! What it means for an install that a person moved live.

use milepost_model::event::EventKind;
use milepost_model::release::LiveMode;
use serde_json::json;

use super::install::{looked_at, set_back, subject};
use crate::error::Result;
use crate::tables::{installs, releases};
use crate::work::Work;

/// After live was moved by hand. To a lower published version it is a rollback: the version that was left is skipped, and
/// upgrades are held. To a higher one it is the word of a person that this one is good after all.
pub(crate) async fn live_moved(work: &mut Work<'_>, why: &str) -> Result<()> {
    let Some(id) = work.app.live_release_id else { return Ok(()) };
    let Some(mut row) = installs::lock(work.tx, work.app.id).await? else { return Ok(()) };
    let seq = releases::get(work.tx, id).await?.app_seq;
    let Some((first, entry)) = installs::version_at(work.tx, work.app.id, seq).await? else { return Ok(()) };
    if entry.version == row.entry.version {
        return Ok(());
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
        row.installed_at = work.act.at;
        row.rollback_pin = false;
        row.trial_seq = None;
        row.plan = None;
        row.next_check_at = looked_at(&row, work.act.at);
        let after = json!({ "version": row.entry.version, "brakes": row.brakes });
        work.event(EventKind::InstallLifted, &subject(&row), Some(before), Some(after));
    }
    installs::save(work.tx, &mut row).await
}

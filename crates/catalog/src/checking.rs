//! Whether a new release is checked before it may become latest and live, and what the end of its check moves.
//!
//! A release is held back while its check is pending or failed: it is neither latest nor live by following, and nothing makes
//! room for it. Which functions a check loads is computed from memberships each time, so a crash loses nothing, and what
//! another release was held back for is loaded with the next one too. `docs/decisions/011-checked-releases.md`.

use std::collections::{BTreeSet, HashMap};

use milepost_model::check::{self, CheckState, FunctionCheck, LoadState, ReleaseCheck};
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::release::LiveMode;
use milepost_model::{Code, Refusal};
use serde_json::json;

use crate::db::Tx;
use crate::error::Result;
use crate::ops::install_live::live_moved;
use crate::tables::release_checks::{self, Holder, Report};
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::{installs, tags};
use crate::work::Work;
use crate::{pinned_move, releasing};

/// Who checks the releases that a write makes.
#[derive(Debug, Clone, Default)]
pub enum Checking {
    /// Nobody asks for a check. A release with functions that an earlier one was held back for still gets one, by whichever
    /// node looks first: no way of writing brings them to users.
    #[default]
    Unasked,
    /// The caller loads the functions under this lease and settles the check. No two leases have the same holder.
    By { holder: String, lease_ms: i64 },
    /// The user wants no check.
    Skipped,
    /// The function versions that the write itself puts need no check. Others that latest does not have still get one, by
    /// whichever node looks first: another user's code may be held back.
    SkippedOwn,
    /// The caller has loaded these function versions, by the catalog's numbers. A release with others that latest does not
    /// have is refused (`head_moved`): the app changed while they were loaded.
    Loaded(BTreeSet<i64>),
}

/// The functions of app version `seq` that a check loads: those whose version latest does not have.
pub(crate) async fn to_load(work: &mut Work<'_>, seq: i64) -> Result<Vec<i64>> {
    let latest = latest_seq(work).await?;
    release_checks::new_functions(work.tx, work.app.id, seq, latest).await
}

/// The app version of latest. A delete expires latest before it makes the release that takes its place: what users have is
/// still the base.
async fn latest_seq(work: &mut Work<'_>) -> Result<Option<i64>> {
    match work.app.latest_release_id {
        Some(id) => Ok(Some(releases::get(work.tx, id).await?.app_seq)),
        None => Ok(None),
    }
}

/// The check that a release of app version `seq` begins with.
pub(crate) async fn begins_with(work: &mut Work<'_>, seq: i64, same_functions: bool) -> Result<CheckState> {
    let app = work.app.id;
    let latest = latest_seq(work).await?;
    match work.checking {
        Checking::Skipped => return Ok(CheckState::Skipped),
        // It differs from latest by this change only, which touches no function.
        Checking::By { .. } if same_functions && latest == Some(seq - 1) => return Ok(CheckState::None),
        Checking::Unasked if !releases::any_held_back(work.tx, app).await? => return Ok(CheckState::None),
        _ => {}
    }
    let new = release_checks::new_functions(work.tx, app, seq, latest).await?;
    if new.is_empty() {
        return Ok(CheckState::None);
    }
    match &work.checking {
        Checking::Loaded(loaded) if new.iter().all(|version| loaded.contains(version)) => Ok(CheckState::Passed),
        Checking::Loaded(_) => {
            let message = format!("App `{}` got other functions while these were loaded.", work.app.name);
            Err(Refusal::new(Code::HeadMoved, message).hint("nothing was changed; repeat the command").into())
        }
        Checking::SkippedOwn => {
            let own = release_checks::new_functions(work.tx, app, seq, Some(seq - 1)).await?;
            let only_own = new.iter().all(|version| own.contains(version));
            Ok(if only_own { CheckState::Skipped } else { CheckState::Pending })
        }
        _ => Ok(CheckState::Pending),
    }
}

/// Writes down who checks a release that was just made, and what to do when it passes.
pub(crate) async fn begin(work: &mut Work<'_>, release: i64, why: &str, pins_live: bool) -> Result<()> {
    let holder = match &work.checking {
        Checking::By { holder, lease_ms } => Some(Holder { token: holder, lease_ms: *lease_ms }),
        _ => None,
    };
    let pinned_to = work.app.live_release_id.filter(|_| pins_live && work.app.live_mode == LiveMode::Pinned);
    release_checks::begin(work.tx, release, holder, why, pinned_to).await
}

/// How a check ended.
pub(crate) enum Ending {
    Settled,
    /// Latest moved meanwhile: more functions have to be loaded than were.
    Again,
}

/// Ends the check of a pending release with what was found of the function versions that were loaded.
pub(crate) async fn settle(
    work: &mut Work<'_>,
    release: &ReleaseRow,
    mut found: HashMap<i64, FunctionCheck>,
) -> Result<Ending> {
    let wanted = to_load(work, release.app_seq).await?;
    let failed = found.values().any(|function| function.state == LoadState::Failed);
    if !failed && wanted.iter().any(|version| !found.contains_key(version)) {
        return Ok(Ending::Again);
    }
    let mut functions: Vec<FunctionCheck> = found.drain().map(|(_, function)| function).collect();
    functions.sort_by(|one, other| (&one.name, one.number).cmp(&(&other.name, other.number)));
    let state = if failed { CheckState::Failed } else { CheckState::Passed };
    let row = release_checks::get(work.tx, release.id).await?;
    let mut report = Report { functions: check::bounded(functions), ..Report::default() };
    release_checks::end(work.tx, release.id, state, work.act.at, &report).await?;
    let names = |state: LoadState| -> Vec<String> {
        let of = report.functions.iter().filter(|function| function.state == state);
        of.map(|function| format!("{} version {}", function.name, function.number)).collect()
    };
    let mut after = json!({ "check": state, "loaded": names(LoadState::Ok) });
    if failed {
        after["failed"] = names(LoadState::Failed).into();
    }
    let before = json!({ "check": CheckState::Pending });
    work.event(EventKind::ReleaseChecked, &format!("release {}", release.name), Some(before), Some(after));
    if failed {
        report.expired = make_room(work, release, Going::HeldBack).await?;
    } else {
        let live = work.app.live_release_id;
        releasing::settle(work, Step::Forward, &row.why).await?;
        let mut pin_moved = false;
        if row.pins_live.is_some() && row.pins_live == work.app.live_release_id {
            take_pin(work, release, &row.why).await?;
            pin_moved = work.app.live_release_id != live;
        }
        report.lost_pin = row.pins_live.is_some() && work.app.live_release_id != Some(release.id);
        if pin_moved || (work.app.live_release_id != live && !is_before_install(work, release).await?) {
            live_moved(work, &row.why).await?;
        }
        report.expired = make_room(work, release, Going::Any).await?;
    }
    if !report.expired.is_empty() || report.lost_pin {
        release_checks::end(work.tx, release.id, state, work.act.at, &report).await?;
    }
    Ok(Ending::Settled)
}

/// Whether the release holds an older app version than the one that was installed last. Live that follows to it while that
/// one is on trial was not moved by a user, and is not a rollback.
async fn is_before_install(work: &mut Work<'_>, release: &ReleaseRow) -> Result<bool> {
    let installed = installs::find(work.tx, work.app.id).await?;
    Ok(installed.is_some_and(|row| release.app_seq < row.app_seq))
}

/// Moves a pinned live to a release that was made to take its place. Nothing when a user moved or unpinned live meanwhile.
pub(crate) async fn take_pin(work: &mut Work<'_>, release: &ReleaseRow, why: &str) -> Result<()> {
    if work.app.live_mode == LiveMode::Pinned && work.app.live_release_id != Some(release.id) {
        pinned_move::move_to(work, release, why).await?;
    }
    Ok(())
}

/// What may expire for a release whose check has ended.
#[derive(PartialEq)]
enum Going {
    Any,
    /// Nothing that ever worked expires for a release that does not.
    HeldBack,
}

/// Brings the active releases back under the plan's bound, oldest first and those before that failed their check. What users
/// get stays: live, latest and what is tagged. Pending releases make room when they pass.
async fn make_room(work: &mut Work<'_>, release: &ReleaseRow, going: Going) -> Result<Vec<String>> {
    let Some(bound) = work.app.plan.limits().active_releases else { return Ok(Vec::new()) };
    let mut active = releases::active(work.tx, work.app.id).await?;
    active.retain(|active| active.check != CheckState::Pending);
    let excess = active.len().saturating_sub(bound as usize);
    if excess == 0 {
        return Ok(Vec::new());
    }
    let tagged = tags::tagged(work.tx, work.app.id).await?;
    active.sort_by_key(|active| (active.check != CheckState::Failed, active.id));
    let stays = |row: &ReleaseRow| {
        tagged.contains(&row.id)
            || [work.app.live_release_id, work.app.latest_release_id].contains(&Some(row.id))
            || (going == Going::HeldBack && (row.id == release.id || row.check != CheckState::Failed))
    };
    active.retain(|row| !stays(row));
    active.truncate(excess);
    let mut expired = Vec::new();
    for row in active {
        releasing::expire(work, &row, &format!("made room for release {}", release.name)).await?;
        expired.push(row.name);
    }
    Ok(expired)
}

/// What is known about a release, with what its check found.
pub(crate) async fn view(tx: &mut Tx, release: &ReleaseRow) -> Result<ReleaseCheck> {
    if release.check == CheckState::None {
        return Ok(ReleaseCheck::default());
    }
    let row = release_checks::get(tx, release.id).await?;
    Ok(ReleaseCheck { state: release.check, checked_at: row.checked_at, functions: row.report.functions })
}

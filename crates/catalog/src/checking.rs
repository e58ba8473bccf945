//! Decides whether a new release is checked before it becomes latest and live, and moves the
//! pointers when its check ends.
//!
//! A release is held back while its check is pending or failed: it becomes neither latest nor live
//! by following, and no other release expires to make room for it. The functions to load are
//! computed from memberships each time, so a crash loses nothing, and functions that held back an
//! earlier release are loaded with the next one too. See `docs/decisions/011-checked-releases.md`.

use std::collections::{BTreeSet, HashMap};

use milepost_model::check::{self, CheckState, FunctionCheck, LoadState, ReleaseCheck};
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::release::LiveMode;
use milepost_model::{Code, Next, Refusal};
use serde_json::json;

use crate::db::Tx;
use crate::error::Result;
use crate::ops::install_live::live_moved;
use crate::tables::release_checks::{self, Holder, Report};
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::{installs, rollouts, tags};
use crate::work::Work;
use crate::{pinned_move, releasing};

/// Who checks the releases that a write makes.
#[derive(Debug, Clone, Default)]
pub enum Checking {
    /// The caller asks for no check. A release with functions that held back an earlier release
    /// still gets one, from whichever node claims it first: no kind of write brings unchecked
    /// functions to users.
    #[default]
    Unasked,
    /// The caller loads the functions under this lease and settles the check. Each lease has its
    /// own holder.
    By { holder: String, lease_ms: i64 },
    /// The user skips the check.
    Skipped,
    /// Skips the check of the function versions that this write puts. Other functions that latest
    /// does not have are still checked, by whichever node claims the check first: they may be
    /// another user's code that was held back.
    SkippedOwn,
    /// The caller has already loaded these function versions, given by row id. A release with other
    /// functions that latest does not have is rejected with `head_moved`: the app changed while
    /// they were loading.
    Loaded(BTreeSet<i64>),
}

/// Returns the functions of app version `seq` that a check loads: those whose version latest does
/// not have.
pub(crate) async fn to_load(work: &mut Work<'_>, seq: i64) -> Result<Vec<i64>> {
    let latest = latest_seq(work).await?;
    release_checks::new_functions(work.tx, work.app.id, seq, latest).await
}

/// Returns the app version of latest. During a delete this may be an expired release: a delete
/// expires latest before it makes the replacement, and the base stays what users had.
async fn latest_seq(work: &mut Work<'_>) -> Result<Option<i64>> {
    match work.app.latest_release_id {
        Some(id) => Ok(Some(releases::get(work.tx, id).await?.app_seq)),
        None => Ok(None),
    }
}

/// Decides the initial check state of a release of app version `seq`.
pub(crate) async fn begins_with(work: &mut Work<'_>, seq: i64, same_functions: bool) -> Result<CheckState> {
    let app = work.app.id;
    let latest = latest_seq(work).await?;
    match work.checking {
        Checking::Skipped => return Ok(CheckState::Skipped),
        // The release differs from latest only by this change, which touches no function.
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
            let message =
                format!("app `{}` got other functions while these were loaded; nothing was changed", work.app.name);
            Err(Refusal::new(Code::HeadMoved, message).next(Next::Retry).into())
        }
        Checking::SkippedOwn => {
            let own = release_checks::new_functions(work.tx, app, seq, Some(seq - 1)).await?;
            let only_own = new.iter().all(|version| own.contains(version));
            Ok(if only_own { CheckState::Skipped } else { CheckState::Pending })
        }
        _ => Ok(CheckState::Pending),
    }
}

/// Records who checks a new release, and which pointers to move when it passes.
pub(crate) async fn begin(work: &mut Work<'_>, release: i64, why: &str, pins_live: bool) -> Result<()> {
    let holder = match &work.checking {
        Checking::By { holder, lease_ms } => Some(Holder { token: holder, lease_ms: *lease_ms }),
        _ => None,
    };
    let pinned_to = work.app.live_release_id.filter(|_| pins_live && work.app.live_mode == LiveMode::Pinned);
    release_checks::begin(work.tx, release, holder, why, pinned_to).await
}

/// The outcome of [`settle`].
pub(crate) enum Ending {
    Settled,
    /// Latest moved meanwhile, so more functions must be loaded than were.
    Again,
}

/// Ends the check of a pending release with the results of the function versions that were loaded.
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

/// Reports whether the release holds an older app version than the last installed one. While that
/// one is on trial, live following to such a release was not a user's move and is not a rollback.
async fn is_before_install(work: &mut Work<'_>, release: &ReleaseRow) -> Result<bool> {
    let installed = installs::find(work.tx, work.app.id).await?;
    Ok(installed.is_some_and(|row| release.app_seq < row.app_seq))
}

/// Moves a pinned live to the release made to replace its target. Does nothing if a user moved or
/// unpinned live meanwhile.
pub(crate) async fn take_pin(work: &mut Work<'_>, release: &ReleaseRow, why: &str) -> Result<()> {
    // A rollout that began meanwhile keeps live where it is.
    let rolls_out = rollouts::open(work.tx, work.app.id).await?.is_some();
    if !rolls_out && work.app.live_mode == LiveMode::Pinned && work.app.live_release_id != Some(release.id) {
        pinned_move::move_to(work, release, why).await?;
    }
    Ok(())
}

/// Which releases may expire to make room for a release whose check has ended.
#[derive(PartialEq)]
enum Going {
    Any,
    /// Only failed releases: a release that failed its check must not expire one that worked.
    HeldBack,
}

/// Expires releases until the plan's limit of active releases is met: failed ones first, then the
/// oldest. Live, latest and tagged releases stay. Pending releases are not counted: they make room
/// when they pass.
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
    let rolled_out = rollouts::open(work.tx, work.app.id).await?.map(|rollout| rollout.candidate_id);
    let stays = |row: &ReleaseRow| {
        tagged.contains(&row.id)
            || [work.app.live_release_id, work.app.latest_release_id, rolled_out].contains(&Some(row.id))
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

/// Returns the check state of a release with the results of its check.
pub(crate) async fn view(tx: &mut Tx, release: &ReleaseRow) -> Result<ReleaseCheck> {
    if release.check == CheckState::None {
        return Ok(ReleaseCheck::default());
    }
    let row = release_checks::get(tx, release.id).await?;
    Ok(ReleaseCheck { state: release.check, checked_at: row.checked_at, functions: row.report.functions })
}

//! Deletes versions. A delete must not break anything that a user referred to by name, and must
//! have no surprising effects. The check and the delete are one transaction, and a dry run takes
//! the same path.

use std::collections::BTreeSet;

use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};
use milepost_model::check::ReleaseCheck;
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::refusal::{Use, User, UserKind};
use milepost_model::release::LiveMode;
use milepost_model::spec::PinRole;
use milepost_model::{AppName, ChangeOutcome, Code, Next, Refusal, Selector, UnitKind, UnitName, Warning};
use serde_json::json;

use crate::change::put::outcome as outcome_of;
use crate::change::{make_app_version, pinned_after_delete, remove};
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::{self, VersionRow, VersionState};
use crate::tables::{aliases, memberships, release_checks, tags};
use crate::work::Work;
use crate::{Catalog, Checking, ServingFunctions, needs, releasing, resolve, rolling};

#[derive(Debug, Clone)]
pub enum VersionsToDelete {
    One(Selector),
    /// Deletes every version, or none if one of them is in use.
    All,
}

/// A version to delete, with its unit.
struct Target {
    unit: UnitRow,
    version: VersionRow,
}

impl Catalog {
    /// Deletes versions of a function or a package. Deleting a package version also deletes the
    /// function versions built on it. Functions that the delete brings to users are not loaded
    /// first.
    pub async fn version_delete(
        &self,
        app: &AppName,
        actor: &str,
        key: UnitKey,
        which: VersionsToDelete,
        dry_run: bool,
    ) -> Result<Written<ChangeOutcome>> {
        self.version_delete_checked(app, actor, key, which, dry_run, Checking::Skipped).await
    }

    /// Like [`Catalog::version_delete`], for a caller that has loaded what
    /// [`Catalog::version_delete_functions`] returns, or whose user skips the check.
    pub async fn version_delete_checked(
        &self,
        app: &AppName,
        actor: &str,
        key: UnitKey,
        which: VersionsToDelete,
        dry_run: bool,
        checking: Checking,
    ) -> Result<Written<ChangeOutcome>> {
        let ending = if dry_run { Ending::Forget } else { Ending::Commit };
        self.work(app, actor, ending, move |work| {
            Box::pin(async move {
                work.checking = checking;
                delete(work, &key, &which, dry_run).await
            })
        })
        .await
    }

    /// Returns the functions that a delete would bring to users and that latest does not have. They
    /// are loaded before the delete, because the delete removes what they replace at once.
    pub async fn version_delete_functions(
        &self,
        app: &AppName,
        actor: &str,
        key: UnitKey,
        which: VersionsToDelete,
    ) -> Result<ServingFunctions> {
        self.work(app, actor, Ending::Forget, move |work| {
            Box::pin(async move {
                work.checking = Checking::Skipped;
                let latest = match work.app.latest_release_id {
                    Some(id) => Some(releases::get(work.tx, id).await?.app_seq),
                    None => None,
                };
                let outcome = delete(work, &key, &which, true).await?;
                let (app, seq) = (work.app.clone(), work.app.head_seq);
                let wanted = match outcome.release {
                    Some(_) => release_checks::new_functions(work.tx, app.id, seq, latest).await?,
                    None => Vec::new(),
                };
                crate::read::functions_at(work.tx, app, seq, wanted).await
            })
        })
        .await
        .map(Written::unapplied)
    }
}

pub(crate) async fn delete(
    work: &mut Work<'_>,
    key: &UnitKey,
    which: &VersionsToDelete,
    dry_run: bool,
) -> Result<ChangeOutcome> {
    if !matches!(key.kind, UnitKind::Function | UnitKind::Package) {
        let message = format!("single versions of {} cannot be deleted", key.kind.with_article());
        return Err(Refusal::new(Code::InvalidRequest, message)
            .correct(format!("remove the {} from the app instead", key.kind))
            .into());
    }
    let targets = collect(work, key, which).await?;
    let ids: BTreeSet<i64> = targets.iter().map(|target| target.version.id).collect();
    let expiring = check(work, key, &targets).await?;

    let what = match (which, targets.first()) {
        (VersionsToDelete::One(_), Some(first)) => format!("delete {key} version {}", first.version.number),
        _ => format!("delete all versions of {key}"),
    };
    let mut outcome = ChangeOutcome {
        changed: true,
        dry_run,
        app_version: None,
        versions: targets.iter().map(deleted).collect(),
        release: None,
        check: ReleaseCheck::default(),
        expired: expiring.iter().map(|release| release.name.clone()).collect(),
        builds: Vec::new(),
        taken_over: Vec::new(),
        left_out: Vec::new(),
        hand_edits: Vec::new(),
        warnings: Vec::new(),
        notices: Vec::new(),
    };
    // Expires first, so that no active release ever holds a deleted version.
    for release in &expiring {
        releasing::expire(work, release, &what).await?;
    }
    let had_release = work.app.latest_release_id.is_some();
    let was_live = work.app.live_release_id.is_some();
    let seq = work.app.head_seq + 1;
    let head_changed = step_back(work, &targets, &ids, seq, &mut outcome).await?;
    for target in &targets {
        versions::mark_deleted(work.tx, target.version.id).await?;
        let before =
            json!({ "number": target.version.number, "uid": target.version.uid, "label": target.version.label });
        work.event(EventKind::VersionDeleted, &target.unit.key().to_string(), Some(before), None);
    }
    if head_changed {
        let uid = work.fresh_id().await?;
        make_app_version(work, &uid, seq, &what, None, None).await?;
        outcome.app_version = Some(uid);
        // If no release holds the versions, they were never served. There is nothing to take back
        // from users, and other unreleased changes stay unreleased.
        if had_release && !expiring.is_empty() {
            let unreleased = unreleased(work, seq).await?;
            let (release, expired) = releasing::create(work, seq, &what).await?;
            // The former release is gone, so the pointers move even if the new release waits for a
            // check.
            releasing::settle(work, Step::Forward, &what).await?;
            let view = releasing::view(work.tx, &work.app, &release).await?;
            outcome.check = view.check.clone();
            outcome.release = Some(view);
            outcome.expired.extend(expired);
            outcome.notices.extend(unreleased);
            if work.app.live_mode == LiveMode::Pinned {
                outcome.notices.push(pinned_after_delete(work, &release.name, dry_run).await?);
            }
        }
    } else {
        releasing::settle(work, Step::Forward, &what).await?;
    }
    if was_live && work.app.live_release_id.is_none() {
        return Err(nothing_live(&expiring).into());
    }
    Ok(outcome)
}

fn nothing_live(expiring: &[ReleaseRow]) -> Refusal {
    Refusal::new(Code::InUse, "the delete would leave nothing live: no other release has passed its check")
        .next(Next::Deploy)
        .users(protecting(expiring))
}

/// Warns about changes that were kept without a release and go out with this one.
async fn unreleased(work: &mut Work<'_>, seq: i64) -> Result<Option<Warning>> {
    let released = releases::newest_released(work.tx, work.app.id).await?;
    Ok((released < seq - 1).then_some(Warning::HasUnreleasedChanges))
}

/// Collects the versions to delete: the selected ones, and for a package the function versions
/// built on them.
async fn collect(work: &mut Work<'_>, key: &UnitKey, which: &VersionsToDelete) -> Result<Vec<Target>> {
    let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    let named = match which {
        VersionsToDelete::One(selector) => vec![resolve::version(work.tx, &unit, selector).await?],
        VersionsToDelete::All => versions::list(work.tx, unit.id, None, i64::MAX).await?,
    };
    let mut targets = Vec::new();
    let mut seen = BTreeSet::new();
    for version in named {
        let built_on = versions::pinned_by(work.tx, version.id, PinRole::Package).await?;
        seen.insert(version.id);
        targets.push(Target { unit: unit.clone(), version });
        for version in built_on {
            if seen.insert(version.id) {
                let unit = units::find_by_id(work.tx, version.unit_id).await?;
                targets.push(Target { unit, version });
            }
        }
    }
    Ok(targets)
}

/// Rejects the delete if anything refers to a target, and lists every reference. Otherwise returns
/// the releases that expire.
async fn check(work: &mut Work<'_>, key: &UnitKey, targets: &[Target]) -> Result<Vec<ReleaseRow>> {
    let mut users: Vec<User> = Vec::new();
    let mut expiring: Vec<ReleaseRow> = Vec::new();
    let ids: Vec<i64> = targets.iter().map(|target| target.version.id).collect();
    versions::hold_for_delete(work.tx, &ids).await?;
    for target in targets {
        let what = format!("{} version {}", target.unit.key(), target.version.number);
        for alias in aliases::of_version(work.tx, target.version.id).await? {
            users.push(User::new(UserKind::Alias, alias.name.as_str(), Use::PointsAt, what.as_str()));
        }
        for trigger in versions::pinned_by(work.tx, target.version.id, PinRole::Target).await? {
            let unit = units::find_by_id(work.tx, trigger.unit_id).await?;
            if unit.current_version_id == Some(trigger.id) {
                users.push(User::new(UserKind::Unit, unit.key().to_string(), Use::PinnedTo, what.as_str()));
            }
        }
        users.extend(needs::of_version(work.tx, target.version.id, &what).await?);
        for release in releases::holding(work.tx, work.app.id, target.version.id).await? {
            let mut reasons: Vec<String> =
                tags::of_release(work.tx, release.id).await?.iter().map(|tag| format!("tag {tag}")).collect();
            if work.app.live_mode == LiveMode::Pinned && work.app.live_release_id == Some(release.id) {
                reasons.push("live, pinned".to_owned());
            }
            reasons.extend(rolling::protecting(work, release.id).await?);
            if !reasons.is_empty() {
                let holds = User::new(UserKind::Release, release.name, Use::Holds, what.as_str());
                users.push(holds.because(reasons));
            } else if expiring.iter().all(|known| known.id != release.id) {
                expiring.push(release);
            }
        }
    }
    users.dedup();
    if !users.is_empty() {
        // Also lists what the next attempt would be rejected for.
        for function in leaving_functions(work, targets).await? {
            for user in remove::users_of_function(work, &function).await? {
                if !users.iter().any(|known| (known.kind, &known.name) == (user.kind, &user.name)) {
                    users.push(user);
                }
            }
        }
        let message = format!("cannot delete from {key}: it is in use");
        return Err(Refusal::new(Code::InUse, message)
            .correct("move or delete what is listed first")
            .users(users)
            .into());
    }
    keep_something_live(work, targets, &expiring).await?;
    expiring.sort_by_key(|release| release.id);
    Ok(expiring)
}

/// Returns the functions of which no version would remain.
async fn leaving_functions(work: &mut Work<'_>, targets: &[Target]) -> Result<BTreeSet<UnitKey>> {
    let gone: BTreeSet<i64> = targets.iter().map(|target| target.version.id).collect();
    let mut leaving = BTreeSet::new();
    for Target { unit, version } in targets {
        let is_current = unit.kind == UnitKind::Function && unit.current_version_id == Some(version.id);
        if is_current && newest_remaining(work, unit.id, &gone).await?.is_none() {
            leaving.insert(unit.key());
        }
    }
    Ok(leaving)
}

/// Makes sure that an active release remains for live. If the head of the app does not change, the
/// delete makes no new release.
async fn keep_something_live(work: &mut Work<'_>, targets: &[Target], expiring: &[ReleaseRow]) -> Result<()> {
    let head_changes = targets.iter().any(|target| target.unit.current_version_id == Some(target.version.id));
    let active = releases::active(work.tx, work.app.id).await?;
    if head_changes || active.is_empty() || active.len() > expiring.len() {
        return Ok(());
    }
    let message = "every active release holds what would be deleted, so nothing would be live";
    Err(Refusal::new(Code::InUse, message).next(Next::CreateRelease { of: None }).users(protecting(expiring)).into())
}

fn protecting(releases: &[ReleaseRow]) -> Vec<User> {
    releases.iter().map(|release| User::new(UserKind::Release, release.name.as_str(), Use::Protects, "")).collect()
}

/// Reverts each unit whose current version is deleted to its newest remaining version, or removes
/// the unit from the app if none remains.
async fn step_back(
    work: &mut Work<'_>,
    targets: &[Target],
    gone: &BTreeSet<i64>,
    seq: i64,
    outcome: &mut ChangeOutcome,
) -> Result<bool> {
    let mut removed = Vec::new();
    let mut changed = false;
    for target in targets {
        let mut unit = units::find_by_id(work.tx, target.unit.id).await?;
        if unit.current_version_id != Some(target.version.id) {
            continue;
        }
        changed = true;
        match newest_remaining(work, unit.id, gone).await? {
            Some(version) => {
                memberships::close(work.tx, unit.id, seq).await?;
                memberships::open(work.tx, unit.id, seq, version.id).await?;
                unit.current_version_id = Some(version.id);
                units::save(work.tx, &unit).await?;
                outcome.versions.push(outcome_of(unit.kind, &unit.name, UnitAction::Reverted, &version, Vec::new()));
            }
            None => {
                remove::take_out(work, &mut unit, seq).await?;
                outcome.versions.push(remove::removed(&unit.key()));
                removed.push(unit.key());
            }
        }
    }
    remove::check_references(work, &removed).await?;
    Ok(changed)
}

async fn newest_remaining(work: &mut Work<'_>, unit_id: i64, gone: &BTreeSet<i64>) -> Result<Option<VersionRow>> {
    // A delete covers few versions, so one page that reaches past them contains the answer.
    let page = versions::list(work.tx, unit_id, None, gone.len() as i64 + 1).await?;
    Ok(page.into_iter().find(|version| version.state == VersionState::Active && !gone.contains(&version.id)))
}

fn deleted(target: &Target) -> UnitOutcome {
    let name: &UnitName = &target.unit.name;
    UnitOutcome {
        kind: target.unit.kind,
        name: name.clone(),
        action: UnitAction::Deleted,
        number: Some(target.version.number),
        uid: Some(target.version.uid.clone()),
        label: target.version.label.clone(),
        digest: None,
        reasons: Vec::new(),
    }
}

//! Makes and expires releases, and moves the pointers that go with them: latest, and live while it
//! follows.

use milepost_model::check::CheckState;
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::refusal::{Field, Use, User, UserKind, View};
use milepost_model::release::{LiveMode, Release, ReleaseState};
use milepost_model::retention::{self, Candidate};
use milepost_model::{Code, Next, Refusal};
use serde_json::json;

use crate::checking;
use crate::db::Tx;
use crate::error::Result;
use crate::tables::apps::AppRow;
use crate::tables::pointer_moves::{self, NewMove, Pointer};
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::versions::{self, VersionState};
use crate::tables::{app_versions, memberships, rollouts, tags};
use crate::work::Work;
use crate::{rolling, timers};

/// Input of [`make`].
pub(crate) struct NewRelease<'a> {
    pub seq: i64,
    pub why: &'a str,
    /// The app version has the same functions as the one before it.
    pub same_functions: bool,
    /// Moves a pinned live to the release; live stays pinned.
    pub pins_live: bool,
}

/// Releases an app version; see [`make`].
pub(crate) async fn create(work: &mut Work<'_>, seq: i64, why: &str) -> Result<(ReleaseRow, Vec<String>)> {
    make(work, NewRelease { seq, why, same_functions: false, pins_live: false }).await
}

/// Releases an app version, expires the oldest unprotected releases to make room, and moves latest
/// and, if it follows, live. If the release must be checked first, this only verifies that there
/// could be room, and the rest happens when it passes. Returns the new release and the names of the
/// expired ones.
pub(crate) async fn make(work: &mut Work<'_>, new: NewRelease<'_>) -> Result<(ReleaseRow, Vec<String>)> {
    let NewRelease { seq, why, same_functions, pins_live } = new;
    let check = checking::begins_with(work, seq, same_functions).await?;
    let mut active = releases::active(work.tx, work.app.id).await?;
    // Pending releases make room when they pass. Failed ones expire first.
    active.retain(|release| release.check != CheckState::Pending);
    active.sort_by_key(|release| (release.check != CheckState::Failed, release.id));
    let pinned_live = if work.app.live_mode == LiveMode::Pinned { work.app.live_release_id } else { None };
    let tagged = tags::tagged(work.tx, work.app.id).await?;
    let rolled_out = rollouts::open(work.tx, work.app.id).await?.map(|rollout| rollout.candidate_id);
    let candidate = |release: &ReleaseRow| {
        let protected = tagged.contains(&release.id) || [pinned_live, rolled_out].contains(&Some(release.id));
        Candidate { id: release.id, protected }
    };
    let candidates: Vec<Candidate> = active.iter().map(candidate).collect();
    let bound = work.app.plan.limits().active_releases;
    let going = match retention::expiring(&candidates, bound) {
        Ok(going) => going,
        Err(no_room) => return Err(refuse_full(work, &active, &candidates, no_room.bound).await?.into()),
    };
    let name = work.fresh_id().await?;
    let act = (work.act.at, work.act.actor.as_str());
    let release = releases::insert(work.tx, work.app.id, &name, seq, act, check).await?;
    let app_version = app_versions::get(work.tx, work.app.id, seq).await?;
    let mut after = json!({ "release": name, "appVersion": app_version.uid, "why": why });
    if check != CheckState::None {
        after["check"] = json!(check);
    }
    work.event(EventKind::ReleaseCreated, &format!("release {name}"), None, Some(after));
    if check == CheckState::Pending {
        checking::begin(work, release.id, why, pins_live).await?;
        return Ok((release, Vec::new()));
    }
    let mut expired = Vec::new();
    for old in active.iter().filter(|old| going.contains(&old.id)) {
        expire(work, old, &format!("made room for release {name}")).await?;
        expired.push(old.name.clone());
    }
    settle(work, Step::Forward, why).await?;
    if pins_live {
        checking::take_pin(work, &release, why).await?;
    }
    Ok((release, expired))
}

/// Expires one release. The caller makes sure that nothing protects it, and settles the pointers
/// afterwards.
pub(crate) async fn expire(work: &mut Work<'_>, release: &ReleaseRow, why: &str) -> Result<()> {
    releases::expire(work.tx, release.id, work.act.at).await?;
    let subject = format!("release {}", release.name);
    let before = json!({ "state": "active" });
    work.event(EventKind::ReleaseExpired, &subject, Some(before), Some(json!({ "state": "expired", "why": why })));
    Ok(())
}

/// Points latest at the newest active release that no check holds back, and live at latest while it
/// follows.
pub(crate) async fn settle(work: &mut Work<'_>, step: Step, why: &str) -> Result<()> {
    let newest = releases::newest_reachable(work.tx, work.app.id).await?.map(|release| release.id);
    if newest != work.app.latest_release_id {
        let from = work.app.latest_release_id;
        record_move(work, Pointer::Latest, from, newest, step, why).await?;
        work.app.latest_release_id = newest;
    }
    if work.app.live_mode == LiveMode::Following && work.app.live_release_id != newest {
        move_live(work, newest, step, why).await?;
    }
    Ok(())
}

/// Refused while a rollout is open: only its end moves live.
pub(crate) async fn move_live(work: &mut Work<'_>, to: Option<i64>, step: Step, why: &str) -> Result<()> {
    rolling::refuse_open(work).await?;
    let from = work.app.live_release_id;
    record_move(work, Pointer::Live, from, to, step, why).await?;
    work.app.live_release_id = to;
    timers::reconcile(work.tx, &*work.ids, work.app.id, to, work.act.at).await
}

/// Records in live's history and in the event log that live was pinned or unpinned without moving.
/// Does nothing if a later move already recorded the mode.
pub(crate) async fn tell_live_mode(work: &mut Work<'_>, why: &str) -> Result<()> {
    let mode = work.app.live_mode;
    if mode == work.told_live_mode {
        return Ok(());
    }
    let (kind, what) = match mode {
        LiveMode::Pinned => (EventKind::LivePinned, "pinned where it was"),
        LiveMode::Following => (EventKind::LiveUnpinned, "follows latest, from where it was"),
    };
    let why = if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") };
    let at = work.app.live_release_id;
    let stay = NewMove { from_id: at, to_id: at, step: Step::Forward, at: work.act.at, by: &work.act.actor, why: &why };
    pointer_moves::insert(work.tx, work.app.id, Pointer::Live, &stay).await?;
    let release = name_of(work, at).await?;
    let before = json!({ "release": release, "mode": work.told_live_mode });
    work.event(kind, "live", Some(before), Some(json!({ "release": release, "mode": mode, "why": why })));
    work.told_live_mode = mode;
    Ok(())
}

/// Records a move of a release pointer in its history and in the event log.
pub(crate) async fn record_move(
    work: &mut Work<'_>,
    pointer: Pointer<'_>,
    from: Option<i64>,
    to: Option<i64>,
    step: Step,
    why: &str,
) -> Result<()> {
    let new = NewMove { from_id: from, to_id: to, step, at: work.act.at, by: &work.act.actor, why };
    pointer_moves::insert(work.tx, work.app.id, pointer, &new).await?;
    let before = name_of(work, from).await?;
    let after = name_of(work, to).await?;
    let (kind, subject) = match (pointer, to) {
        (Pointer::Live, _) => (EventKind::LiveMoved, "live".to_owned()),
        (Pointer::Latest, _) => (EventKind::LatestMoved, "latest".to_owned()),
        (Pointer::Tag(name), Some(_)) => (EventKind::TagMoved, format!("tag {name}")),
        (Pointer::Tag(name), None) => (EventKind::TagDeleted, format!("tag {name}")),
        (Pointer::Alias { name, .. }, _) => (EventKind::AliasMoved, format!("alias {name}")),
    };
    let before = before.map(|release| json!({ "release": release }));
    let mut after = after.map(|release| json!({ "release": release, "why": why }));
    if matches!(pointer, Pointer::Live) {
        if let Some(after) = &mut after {
            after["mode"] = json!(work.app.live_mode);
        }
        work.told_live_mode = work.app.live_mode;
    }
    work.event(kind, &subject, before, after);
    Ok(())
}

async fn name_of(work: &mut Work<'_>, release_id: Option<i64>) -> Result<Option<String>> {
    match release_id {
        Some(id) => Ok(Some(work.release_name(id).await?)),
        None => Ok(None),
    }
}

async fn refuse_full(
    work: &mut Work<'_>,
    active: &[ReleaseRow],
    candidates: &[Candidate],
    bound: u32,
) -> Result<Refusal> {
    let mut users = Vec::new();
    for (release, candidate) in active.iter().zip(candidates) {
        if !candidate.protected {
            continue;
        }
        let tags = tags::of_release(work.tx, release.id).await?;
        let mut reasons: Vec<String> = tags.iter().map(|tag| format!("tag {tag}")).collect();
        if work.app.live_release_id == Some(release.id) {
            reasons.push("live".to_owned());
        }
        reasons.extend(rolling::protecting(work, release.id).await?);
        users.push(User::new(UserKind::Release, release.name.as_str(), Use::Protects, "").because(reasons));
    }
    let message = format!(
        "app `{}` has {} active releases, its plan `{}` allows {bound}, and all of them are protected",
        work.app.name,
        active.len(),
        work.app.plan
    );
    Ok(Refusal::new(Code::NoRoom, message)
        .next(Next::Untag)
        .next(Next::Give { field: Field::NoRelease })
        .limit(u64::from(bound), active.len() as u64)
        .users(users))
}

/// Returns a release as the API shows it.
pub(crate) async fn view(tx: &mut Tx, app: &AppRow, row: &ReleaseRow) -> Result<Release> {
    let app_version = app_versions::get(tx, app.id, row.app_seq).await?;
    Ok(Release {
        id: row.name.clone(),
        app_version: app_version.uid,
        state: row.state,
        tags: if row.state == ReleaseState::Active { tags::of_release(tx, row.id).await? } else { Vec::new() },
        live: app.live_release_id == Some(row.id),
        latest: app.latest_release_id == Some(row.id),
        check: checking::view(tx, row).await?,
        created_at: row.created_at,
        created_by: row.created_by.clone(),
        expired_at: row.expired_at,
        urls: Vec::new(),
    })
}

/// Finds a release by its id, a tag, `live`, `latest`, or the uid of its app version.
pub(crate) async fn find(tx: &mut Tx, app: &AppRow, name: &str) -> Result<ReleaseRow> {
    let by_pointer = match name {
        "live" => app.live_release_id,
        "latest" => app.latest_release_id,
        _ => tags::find(tx, app.id, name).await?,
    };
    if let Some(id) = by_pointer {
        return releases::get(tx, id).await;
    }
    if let Some(release) = releases::find_by_name(tx, app.id, name).await? {
        return Ok(release);
    }
    if let Some(app_version) = app_versions::find_by_uid(tx, app.id, name).await? {
        if let Some(release) = releases::of_app_version(tx, app.id, app_version.seq).await? {
            return Ok(release);
        }
        let message = format!("app version `{name}` was never released");
        let next = Next::CreateRelease { of: Some(name.to_owned()) };
        return Err(Refusal::new(Code::NoRelease, message).next(next).into());
    }
    if name == "live" || name == "latest" {
        let message = format!("app `{}` has no release yet, so nothing is {name}", app.name);
        return Err(Refusal::new(Code::ReleaseNotFound, message)
            .next(Next::Deploy)
            .next(Next::CreateRelease { of: None })
            .into());
    }
    let mut names: Vec<String> =
        releases::list(tx, app.id, false, None, 100).await?.into_iter().map(|release| release.name).collect();
    names.extend(tags::list(tx, app.id).await?.into_iter().map(|(tag, _)| tag.to_string()));
    names.extend(["live", "latest"].map(str::to_owned));
    let message = format!("app `{}` has no release `{name}`", app.name);
    let see = [Next::See { view: View::Releases }];
    Err(Refusal::not_found(Code::ReleaseNotFound, message, name, &names, see).into())
}

/// Lists the deleted versions that an app version needs. An empty list means that it can be
/// released again.
pub(crate) async fn missing_versions(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for member in memberships::at(tx, app_id, seq).await? {
        let version = versions::get(tx, member.version_id).await?;
        if version.state == VersionState::Deleted {
            let unit = crate::tables::units::find_by_id(tx, member.unit_id).await?;
            missing.push(format!("{} version {}", unit.key(), version.number));
        }
    }
    for member in memberships::at(tx, app_id, seq).await? {
        missing.extend(versions::deleted_pins(tx, member.version_id).await?);
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}

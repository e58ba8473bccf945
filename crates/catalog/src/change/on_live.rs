//! Changes on live: before the first put, the same transaction resets the app to live's content.
//! Parts of the old head that are left out are reported. See
//! `docs/decisions/012-changes-on-live.md` for the reasons.

use std::collections::BTreeMap;

use milepost_model::base::{Base, LeftOut};
use milepost_model::change::{Change, UnitAction, UnitKey, UnitOutcome};
use milepost_model::event::EventKind;
use milepost_model::refusal::{Field, Use, User, UserKind, View};
use milepost_model::release::LiveMode;
use milepost_model::unit_put::Put;
use milepost_model::{Code, Digest, Next, Refusal, UnitKind};
use serde_json::json;

use super::Draft;
use super::put::{check_limits, outcome};
use crate::error::Result;
use crate::tables::releases::{self, ReleaseRow};
use crate::tables::units::UnitRow;
use crate::tables::versions::VersionRow;
use crate::tables::{aliases, app_versions, contents, installs, memberships, qinling, release_checks, units, versions};
use crate::work::{Mark, Work};
use crate::{needs, rolling};

/// The restored base of a change on live.
pub(super) struct OnLive {
    live: ReleaseRow,
    /// The app version that was head.
    head_seq: i64,
    mark: Mark,
    differing: Vec<Differing>,
}

/// A unit whose version differs between head and live.
struct Differing {
    unit_id: i64,
    key: UnitKey,
    head: Option<VersionRow>,
    live: Option<VersionRow>,
}

/// Resets the app to live's content. Returns `None` for a change on head, and for the first change
/// of an app.
pub(super) async fn begin(work: &mut Work<'_>, change: &Change, seq: i64) -> Result<Option<OnLive>> {
    if change.on == Base::Head || work.app.head_seq == 0 {
        return Ok(None);
    }
    if !change.release {
        return Err(Refusal::new(Code::InvalidRequest, "a change on live needs a release")
            .next(Next::LeaveOut { field: Field::NoRelease })
            .next(Next::LeaveOut { field: Field::OnLive })
            .into());
    }
    let Some(live_id) = work.app.live_release_id else {
        let message = format!("app `{}` has no live release to base the change on", work.app.name);
        return Err(Refusal::new(Code::NoRelease, message)
            .next(Next::LeaveOut { field: Field::OnLive })
            .next(Next::CreateRelease { of: None })
            .into());
    };
    rolling::refuse_open(work).await?;
    if let Some(install) = installs::lock(work.tx, work.app.id).await?
        && install.trial_seq.is_some()
    {
        let message = format!("an upgrade of app `{}` is being checked", work.app.name);
        return Err(Refusal::new(Code::InUse, message).next(Next::Wait).see(View::InstallStatus).into());
    }
    if work.app.live_mode == LiveMode::Pinned
        && let Some(release) = release_checks::taking_pin(work.tx, work.app.id, live_id).await?
    {
        // Both would be based on the same live, and the one that passes last would not reach users.
        let message = format!("another change on live of app `{}` is being checked", work.app.name);
        return Err(Refusal::new(Code::InUse, message)
            .next(Next::Wait)
            .see(View::Release { name: release.clone() })
            .users(vec![User::new(UserKind::Release, release, Use::TakesLive, "")])
            .into());
    }
    let live = releases::get(work.tx, live_id).await?;
    let head_seq = work.app.head_seq;
    let mark = work.mark().await?;
    let mut on_live = OnLive { differing: Vec::new(), live, head_seq, mark };
    on_live.differing = differing(work, head_seq, on_live.live.app_seq).await?;
    for unit in &on_live.differing {
        put_back(work, unit, seq).await?;
    }
    Ok(Some(on_live))
}

async fn differing(work: &mut Work<'_>, head_seq: i64, live_seq: i64) -> Result<Vec<Differing>> {
    if head_seq == live_seq {
        return Ok(Vec::new());
    }
    let mut pairs: BTreeMap<i64, [Option<i64>; 2]> = BTreeMap::new();
    for (position, seq) in [head_seq, live_seq].into_iter().enumerate() {
        for member in memberships::at(work.tx, work.app.id, seq).await? {
            pairs.entry(member.unit_id).or_default()[position] = Some(member.version_id);
        }
    }
    let mut found = Vec::new();
    for (unit_id, [head, live]) in pairs.into_iter().filter(|(_, [head, live])| head != live) {
        let key = units::find_by_id(work.tx, unit_id).await?.key();
        found.push(Differing { unit_id, key, head: version(work, head).await?, live: version(work, live).await? });
    }
    found.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(found)
}

async fn version(work: &mut Work<'_>, id: Option<i64>) -> Result<Option<VersionRow>> {
    match id {
        Some(id) => Ok(Some(versions::get(work.tx, id).await?)),
        None => Ok(None),
    }
}

async fn put_back(work: &mut Work<'_>, differing: &Differing, seq: i64) -> Result<()> {
    let mut unit = units::find_by_id(work.tx, differing.unit_id).await?;
    if differing.head.is_some() {
        memberships::close(work.tx, unit.id, seq).await?;
    }
    if let Some(live) = &differing.live {
        memberships::open(work.tx, unit.id, seq, live.id).await?;
        versions::activate(work.tx, live.id).await?;
        // The folder that owned the unit decides again whether it stays.
        unit.deployment_id = unit.deployment_id.or(unit.last_deployment_id.take());
        if let Some(content) = live.content_id.filter(|_| unit.kind == UnitKind::Function) {
            let spec = contents::get(work.tx, content).await?;
            check_limits(work, &unit.name, &spec)?;
        }
    }
    unit.current_version_id = differing.live.as_ref().map(|live| live.id);
    units::save(work.tx, &unit).await
}

/// Returns the unit's version in head if it is exactly what the put asks for, so that no new
/// version is made.
pub(super) async fn version_of_head(
    work: &mut Work<'_>,
    draft: &Draft<'_>,
    put: &Put,
    unit: &UnitRow,
    digest: &Digest,
) -> Result<Option<VersionRow>> {
    let Some(id) = draft.heads.get(&unit.id).filter(|_| !put.force) else { return Ok(None) };
    let head = versions::get(work.tx, *id).await?;
    let named = put.label.is_none() || put.label == head.label;
    // For a secret, also compares the former digest, in case the version is not re-keyed yet.
    let former = super::secrets::former_digest(draft, put);
    let is_same = head.digest == *digest || former == Some(head.digest);
    Ok(Some(head).filter(|_| is_same && named))
}

impl OnLive {
    /// Returns the head versions of the units that differ in live.
    pub(super) fn heads(&self) -> BTreeMap<i64, i64> {
        self.differing.iter().filter_map(|unit| Some((unit.unit_id, unit.head.as_ref()?.id))).collect()
    }

    /// Returns the reverted units, for aliases that follow the newest code of functions.
    pub(super) fn reverted(&self) -> Vec<UnitOutcome> {
        let told = self.differing.iter().filter_map(|unit| {
            let live = unit.live.as_ref()?;
            Some(outcome(unit.key.kind, &unit.key.name, UnitAction::Updated, live, Vec::new()))
        });
        told.collect()
    }

    pub(super) fn brings_functions_back(&self) -> bool {
        self.differing.iter().any(|unit| unit.key.kind == UnitKind::Function && unit.head.is_none())
    }

    /// Removes the units that only head has and that the change did not put again. Call after all
    /// puts and removals.
    pub(super) async fn leave(&self, work: &mut Work<'_>) -> Result<()> {
        let mut leaving = Vec::new();
        let mut users = Vec::new();
        for differing in self.differing.iter().filter(|unit| unit.live.is_none()) {
            let unit = units::find_by_id(work.tx, differing.unit_id).await?;
            if unit.current_version_id.is_none() {
                users.extend(in_the_way(work, &unit).await?);
                leaving.push(unit);
            }
        }
        if !users.is_empty() {
            let message = format!(
                "live (release `{}`) does not have units that aliases, jobs or webhooks need, so a change on live would remove \
                 them",
                self.live.name
            );
            return Err(Refusal::new(Code::StillReferenced, message)
                .correct("delete what is listed first, or put the units in the same change")
                .users(users)
                .into());
        }
        for mut unit in leaving {
            versions::retire_all(work.tx, unit.id).await?;
            qinling::forget_unit(work.tx, unit.id).await?;
            unit.last_deployment_id = unit.deployment_id.take();
            units::save(work.tx, &unit).await?;
            let before = json!({ "lastNumber": unit.last_number });
            let after = json!({ "why": format!("not in release {}", self.live.name) });
            work.event(EventKind::UnitRemoved, &unit.key().to_string(), Some(before), Some(after));
        }
        Ok(())
    }

    /// Records which units were reverted, and returns what of head the new app version does not
    /// have.
    pub(super) async fn left_out(&self, work: &mut Work<'_>) -> Result<Vec<LeftOut>> {
        let mut left_out = Vec::new();
        for unit in &self.differing {
            let now = units::find_by_id(work.tx, unit.unit_id).await?.current_version_id;
            let (head, live) = (unit.head.as_ref(), unit.live.as_ref());
            if now == head.map(|head| head.id) {
                continue;
            }
            if let Some(live) = live.filter(|live| now == Some(live.id)) {
                let before = head.map(|head| json!({ "number": head.number }));
                let after = json!({ "number": live.number, "release": self.live.name });
                work.event(EventKind::UnitPutBack, &unit.key.to_string(), before, Some(after));
            }
            left_out.push(LeftOut {
                kind: unit.key.kind,
                name: unit.key.name.clone(),
                head: head.map(|head| head.number),
                live: live.map(|live| live.number),
            });
        }
        Ok(left_out)
    }

    /// Records that the new app version is based on the published version that live is based on.
    pub(super) async fn note_install(&self, work: &mut Work<'_>, seq: i64) -> Result<()> {
        let app = work.app.id;
        let of_live = installs::version_at(work.tx, app, self.live.app_seq).await?;
        let of_head = installs::version_at(work.tx, app, self.head_seq).await?;
        let first = |found: &Option<(i64, _)>| found.as_ref().map(|(first, _)| *first);
        if first(&of_live) == first(&of_head) {
            return Ok(());
        }
        let Some((_, entry)) = of_live else { return Ok(()) };
        let config = installs::config_at(work.tx, app, self.live.app_seq).await?;
        installs::put_version(work.tx, app, seq, &entry, config.as_ref()).await
    }

    /// For a change that changes nothing: restores the app. Returns the app version of live.
    pub(super) async fn undo(self, work: &mut Work<'_>) -> Result<String> {
        work.forget_since(self.mark).await?;
        Ok(app_versions::get(work.tx, work.app.id, self.live.app_seq).await?.uid)
    }
}

/// Lists references to the unit by name that would break.
async fn in_the_way(work: &mut Work<'_>, unit: &UnitRow) -> Result<Vec<User>> {
    let key = unit.key().to_string();
    let mut found: Vec<User> = aliases::list(work.tx, unit.id)
        .await?
        .into_iter()
        .map(|alias| User::new(UserKind::Alias, alias.name.as_str(), Use::PointsAt, key.as_str()))
        .collect();
    if unit.kind == UnitKind::Function {
        found.extend(needs::of_function(work.tx, unit.id, &unit.key()).await?);
    }
    let by_v1 = qinling::of_unit(work.tx, unit.id).await?;
    found.extend(
        by_v1
            .filter(|row| row.unit.facts != json!({}))
            .map(|row| User::new(UserKind::Qinling, row.unit.id.clone(), Use::Names, key.as_str())),
    );
    Ok(found)
}

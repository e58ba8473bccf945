//! Applies one put: compares it with the unit that the app has, and makes a new version if it
//! differs.

use milepost_model::change::{UnitAction, UnitOutcome};
use milepost_model::event::EventKind;
use milepost_model::plan::{Reason, reasons};
use milepost_model::unit_put::{Put, PutOnly};
use milepost_model::{Code, Label, Next, Refusal, Selector, UnitKind, UnitName, UnitPut, UnitSpec, Warning};
use serde_json::json;

use super::{Draft, on_live, secrets, specs};
use crate::error::Result;
use crate::tables::contents::Missing;
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::{self, NewVersion, VersionRow};
use crate::tables::{contents, groups, keyed_secrets, memberships};
use crate::work::Work;

/// The version that the app has now, with its content.
pub(crate) struct Current {
    pub version: VersionRow,
    pub spec: UnitSpec,
}

pub(super) async fn apply(work: &mut Work<'_>, draft: &mut Draft<'_>, put: &Put) -> Result<()> {
    let kind = put.unit.kind();
    UnitName::for_kind(kind, put.name.as_str()).map_err(Refusal::from)?;
    let unit = units::find(work.tx, work.app.id, kind, &put.name).await?;
    let current = match &unit {
        Some(unit) => current(work, unit).await?,
        None => None,
    };
    let resolved = specs::resolve(work, draft, put, current.as_ref().map(|current| &current.spec)).await?;
    check_limits(work, &put.name, &resolved.spec)?;
    let digest = resolved.spec.digest();
    let former = secrets::former_digest(draft, put);
    let is_same = |version: &VersionRow| version.digest == digest || former == Some(version.digest);
    if let (Some(current), Some(unit)) = (&current, &unit)
        && is_same(&current.version)
        && !put.force
    {
        keep(work, draft, put, unit, &current.version).await?;
        draft.outcomes.push(outcome(kind, &put.name, UnitAction::Unchanged, &current.version, Vec::new()));
        return Ok(());
    }
    let why = match &current {
        None => vec![Reason::New],
        Some(current) if is_same(&current.version) => vec![Reason::Asked],
        Some(current) => reasons(&with_numbers(work, current).await?, &resolved.spec),
    };

    let mut unit = match unit {
        Some(unit) => unit,
        None => units::insert(work.tx, work.app.id, kind, &put.name).await?,
    };
    let version = match on_live::version_of_head(work, draft, put, &unit, &digest).await? {
        Some(version) => version,
        None => make(work, draft, put, &mut unit, &resolved, current.as_ref()).await?,
    };
    if current.is_some() {
        memberships::close(work.tx, unit.id, draft.seq).await?;
    }
    memberships::open(work.tx, unit.id, draft.seq, version.id).await?;
    unit.current_version_id = Some(version.id);
    units::save(work.tx, &unit).await?;
    join_group(work, put, &unit, &version).await?;
    let action = if current.is_some() { UnitAction::Updated } else { UnitAction::Created };
    draft.outcomes.push(outcome(kind, &put.name, action, &version, why));
    Ok(())
}

/// Makes the next version of a unit.
async fn make(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    put: &Put,
    unit: &mut UnitRow,
    resolved: &specs::Resolved,
    current: Option<&Current>,
) -> Result<VersionRow> {
    let digest = resolved.spec.digest();
    let uid = choose_uid(work, draft, unit, resolved.uid.as_deref()).await?;
    check_label(work, draft, unit, put.label.as_ref()).await?;
    let secret = draft.secrets.get(&put.name).filter(|_| unit.kind == UnitKind::Secret);
    let sealed = secret.map(|secret| secret.sealed.as_slice());
    let on_missing = if draft.dry_run { Missing::Ignore } else { Missing::Refuse };
    let content_id = contents::put(work.tx, work.app.id, &resolved.spec, &digest, sealed, on_missing).await?;
    unit.last_number += 1;
    let new = NewVersion {
        app_id: work.app.id,
        unit_id: unit.id,
        number: unit.last_number,
        uid: &uid,
        label: put.label.as_ref(),
        digest: &digest,
        content_id,
        description: put.description.as_deref().unwrap_or_default(),
        created_at: work.act.at,
        created_by: &work.act.actor,
    };
    let version = versions::insert(work.tx, &new).await?;
    if unit.kind == UnitKind::Secret {
        keyed_secrets::insert(work.tx, &version).await?;
    }
    for (role, target_id) in &resolved.pins {
        versions::insert_pin(work.tx, version.id, *role, *target_id).await?;
    }
    let before = current.map(|current| json!({ "number": current.version.number, "digest": current.version.digest }));
    let after =
        json!({ "number": version.number, "uid": version.uid, "label": version.label, "digest": version.digest });
    work.event(EventKind::VersionCreated, &unit.key().to_string(), before, Some(after));
    Ok(version)
}

/// Applies the rest of a put that makes no new version: the existing version joins the group. Its
/// description stays, with a warning for an update.
async fn keep(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    put: &Put,
    unit: &UnitRow,
    version: &VersionRow,
) -> Result<()> {
    join_group(work, put, unit, version).await?;
    let described = put.description.as_ref().filter(|text| **text != version.description);
    if described.is_some() && put.only == Some(PutOnly::Existing) {
        let (name, version) = (unit.name.to_string(), version.number);
        draft.notices.push(Warning::DescriptionUnused { kind: unit.kind, name, version });
    }
    Ok(())
}

pub(crate) async fn current(work: &mut Work<'_>, unit: &UnitRow) -> Result<Option<Current>> {
    let Some(id) = unit.current_version_id else { return Ok(None) };
    let version = versions::get(work.tx, id).await?;
    let Some(content_id) = version.content_id else { return Ok(None) };
    let spec = contents::get(work.tx, content_id).await?;
    Ok(Some(Current { version, spec }))
}

/// Content is stored without the numbers of pinned versions, but users want to see them.
async fn with_numbers(work: &mut Work<'_>, current: &Current) -> Result<UnitSpec> {
    crate::read::with_pin_numbers(work.tx, &current.version, current.spec.clone()).await
}

pub(crate) fn outcome(
    kind: UnitKind,
    name: &UnitName,
    action: UnitAction,
    version: &VersionRow,
    reasons: Vec<Reason>,
) -> UnitOutcome {
    UnitOutcome {
        kind,
        name: name.clone(),
        action,
        number: Some(version.number),
        uid: Some(version.uid.clone()),
        label: version.label.clone(),
        digest: Some(version.digest),
        reasons,
    }
}

pub(super) async fn check_only(work: &mut Work<'_>, put: &Put) -> Result<()> {
    let kind = put.unit.kind();
    let unit = units::find(work.tx, work.app.id, kind, &put.name).await?;
    let exists = unit.is_some_and(|unit| unit.current_version_id.is_some());
    match put.only {
        Some(PutOnly::New) if exists => {
            let message = format!("app `{}` already has {} `{}`", work.app.name, kind.with_article(), put.name);
            Err(Refusal::new(Code::UnitExists, message)
                .next(Next::UpdateUnit { kind, name: put.name.to_string() })
                .correct("choose another name")
                .into())
        }
        Some(PutOnly::Existing) if !exists => Err(units::unknown(work.tx, &work.app, kind, &put.name).await?.into()),
        _ => Ok(()),
    }
}

pub(crate) fn check_limits(work: &Work<'_>, name: &UnitName, spec: &UnitSpec) -> Result<()> {
    let UnitSpec::Function(function) = spec else { return Ok(()) };
    let limits = work.app.plan.limits();
    let too_much = |what: &str, asked: String, bound: String| {
        let message =
            format!("function `{name}` asks for {asked} {what}, but the plan `{}` allows {bound}", limits.plan);
        Err(Refusal::new(Code::PlanLimit, message)
            .correct("ask for less")
            .next(Next::LargerPlan { app: work.app.name.to_string() })
            .into())
    };
    if let Some(bound) = limits.memory.filter(|bound| function.memory > *bound) {
        return too_much("of memory", format!("{} MiB", function.memory >> 20), format!("{} MiB", bound >> 20));
    }
    if let Some(bound) = limits.instances.filter(|bound| function.scale.max > *bound) {
        return too_much("instances", function.scale.max.to_string(), bound.to_string());
    }
    Ok(())
}

/// Returns the uid of the change, or that of the package version that the user pinned the function
/// to.
async fn choose_uid(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    unit: &UnitRow,
    adopted: Option<&str>,
) -> Result<String> {
    let Some(adopted) = adopted else { return Ok(draft.uid.clone()) };
    if versions::find_by_uid(work.tx, unit.id, adopted).await?.is_none() {
        return Ok(adopted.to_owned());
    }
    let (unit, uid) = (unit.key().to_string(), adopted.to_owned());
    draft.notices.push(Warning::UidTaken { unit, uid, new: draft.uid.clone() });
    Ok(draft.uid.clone())
}

async fn check_label(work: &mut Work<'_>, draft: &mut Draft<'_>, unit: &UnitRow, label: Option<&Label>) -> Result<()> {
    let Some(label) = label else { return Ok(()) };
    if let Some(taken) = versions::find_by_label(work.tx, unit.id, label.as_str()).await? {
        let message = format!("{} already has a version with the label `{label}`: number {}", unit.key(), taken.number);
        return Err(Refusal::new(Code::LabelTaken, message)
            .correct("choose another label: none is used twice, not even after a delete")
            .into());
    }
    // `--version 9.0.0` also finds `v9.0.0`, so one label must not change the meaning of the other.
    if let Some(other) = Selector::respelled(label.as_str())
        && versions::find_by_label(work.tx, unit.id, &other).await?.is_some()
    {
        let message =
            format!("{} already has a version with the label `{other}`, which `{label}` also selects", unit.key());
        return Err(Refusal::new(Code::LabelTaken, message).correct("choose another label").into());
    }
    if versions::uid_exists(work.tx, work.app.id, label.as_str()).await? || draft.uid == label.as_str() {
        let message = format!("`{label}` is the uid of a version, so it cannot be a label");
        return Err(Refusal::new(Code::LabelTaken, message).correct("choose another label").into());
    }
    let latest = versions::newest_label(work.tx, unit.id).await?;
    if let Some(latest) = &latest
        && label.precedes(latest)
    {
        let (label, highest) = (label.to_string(), latest.to_string());
        draft.notices.push(Warning::LowerLabel { label, highest, unit: unit.key().to_string() });
    }
    Ok(())
}

async fn join_group(work: &mut Work<'_>, put: &Put, unit: &UnitRow, version: &VersionRow) -> Result<()> {
    let Some(name) = &put.group else { return Ok(()) };
    if groups::of_version(work.tx, version.id).await?.contains(name) {
        return Ok(());
    }
    let group_id = match groups::find(work.tx, work.app.id, name.as_str()).await? {
        Some((id, _)) => id,
        None => groups::insert(work.tx, work.app.id, name, work.act.at).await?,
    };
    groups::add(work.tx, group_id, unit.id, version.id).await?;
    let after = json!({ "unit": unit.key().to_string(), "number": version.number });
    work.event(EventKind::GroupChanged, &format!("group {name}"), None, Some(after));
    Ok(())
}

/// Adds a built-in environment to the app when a unit first uses it.
pub(super) async fn add_built_in(
    work: &mut Work<'_>,
    draft: &mut Draft<'_>,
    name: &UnitName,
    spec: milepost_model::spec::EnvironmentSpec,
) -> Result<()> {
    let unit = UnitPut::Environment(spec);
    let put = Put { name: name.clone(), label: None, description: None, group: None, force: false, only: None, unit };
    Box::pin(apply(work, draft, &put)).await
}

//! Removes a unit from the app.

use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::refusal::{Use, User, UserKind};
use milepost_model::{Code, Next, Refusal, UnitKind, UnitSpec};
use serde_json::json;

use super::Draft;
use crate::error::Result;
use crate::tables::aliases::AliasRow;
use crate::tables::pointer_moves::{self, NewMove, Pointer};
use crate::tables::units::{self, UnitRow};
use crate::tables::{aliases, contents, memberships, qinling, versions};
use crate::work::Work;
use crate::{needs, read};

pub(super) async fn apply(work: &mut Work<'_>, draft: &mut Draft<'_>, key: &UnitKey) -> Result<()> {
    let mut unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    // Locks versions before the v1 tables, the order in which accepting an execution takes them.
    versions::retire_all(work.tx, unit.id).await?;
    take_out(work, &mut unit, draft.seq).await?;
    draft.outcomes.push(removed(key));
    Ok(())
}

pub(crate) fn removed(key: &UnitKey) -> UnitOutcome {
    UnitOutcome {
        kind: key.kind,
        name: key.name.clone(),
        action: UnitAction::Removed,
        number: None,
        uid: None,
        label: None,
        digest: None,
        reasons: Vec::new(),
    }
}

/// Removes the unit from `seq` on. Its aliases are deleted, except those that an active release
/// needs.
pub(crate) async fn take_out(work: &mut Work<'_>, unit: &mut UnitRow, seq: i64) -> Result<()> {
    memberships::close(work.tx, unit.id, seq).await?;
    for alias in aliases::list(work.tx, unit.id).await? {
        // A route of an active release may follow the alias, which then stays as long as that
        // release.
        if read::release_triggers_following(work.tx, &work.app, &unit.name, &alias.name).await?.is_empty() {
            drop_alias(work, unit, &alias).await?;
        }
    }
    let before = json!({ "lastNumber": unit.last_number });
    work.event(EventKind::UnitRemoved, &unit.key().to_string(), Some(before), None);
    qinling::forget_unit(work.tx, unit.id).await?;
    unit.current_version_id = None;
    // The next deployment that puts it becomes its owner.
    unit.last_deployment_id = unit.deployment_id.take();
    units::save(work.tx, unit).await
}

async fn drop_alias(work: &mut Work<'_>, unit: &UnitRow, alias: &AliasRow) -> Result<()> {
    aliases::delete(work.tx, unit.id, &alias.name).await?;
    let pointer = Pointer::Alias { unit_id: unit.id, name: alias.name.as_str() };
    let why = format!("{} was removed", unit.key());
    let gone = NewMove {
        from_id: Some(alias.version_id),
        to_id: None,
        step: Step::Forward,
        at: work.act.at,
        by: &work.act.actor,
        why: &why,
    };
    pointer_moves::insert(work.tx, work.app.id, pointer, &gone).await?;
    let subject = format!("alias {} of {}", alias.name, unit.key());
    let version = versions::get(work.tx, alias.version_id).await?;
    let before = json!({ "number": version.number });
    work.event(EventKind::AliasDeleted, &subject, Some(before), Some(json!({ "why": why })));
    Ok(())
}

/// Deletes aliases of removed units that no active release follows any more. A sweep does this
/// before it removes the versions that they keep.
pub(crate) async fn drop_left_over_aliases(work: &mut Work<'_>) -> Result<()> {
    for unit_id in aliases::of_removed_units(work.tx, work.app.id).await? {
        let unit = units::find_by_id(work.tx, unit_id).await?;
        for alias in aliases::list(work.tx, unit.id).await? {
            if read::release_triggers_following(work.tx, &work.app, &unit.name, &alias.name).await?.is_empty() {
                drop_alias(work, &unit, &alias).await?;
            }
        }
    }
    Ok(())
}

/// Rejects the removal if anything that stays needs it, and lists every reference.
pub(crate) async fn check_references(work: &mut Work<'_>, removed: &[UnitKey]) -> Result<()> {
    let units = needed(work, removed).await?;
    let started = started(work, removed).await?;
    let in_the_way =
        |key: &&UnitKey| units.iter().any(|(_, needed)| needed == *key) || started.iter().any(|(_, by)| by == *key);
    let names: Vec<String> = removed.iter().filter(in_the_way).map(ToString::to_string).collect();
    let names = names.join(", ");
    let who = match (units.is_empty(), started.is_empty()) {
        (true, true) => return Ok(()),
        (false, true) => "other units of the app",
        (true, false) => "jobs or webhooks",
        (false, false) => "other units of the app, and jobs or webhooks,",
    };
    let mut refusal = Refusal::new(Code::StillReferenced, format!("cannot remove {names}: {who} need it"));
    if !units.is_empty() {
        refusal = refusal.correct("remove or change the units that need it first, or in the same change");
    }
    if !started.is_empty() {
        refusal = refusal.next(Next::DeleteJobsAndWebhooks);
    }
    let users = units.iter().map(|(by, key)| unit_needs(by, key)).chain(started.into_iter().map(|(by, _)| by));
    Err(refusal.users(users.collect()).into())
}

fn unit_needs(by: &UnitKey, key: &UnitKey) -> User {
    User::new(UserKind::Unit, by.to_string(), Use::Needs, key.to_string())
}

/// Lists what needs a function as a whole: routes and timers of the app, jobs and webhooks.
pub(crate) async fn users_of_function(work: &mut Work<'_>, function: &UnitKey) -> Result<Vec<User>> {
    let keys = std::slice::from_ref(function);
    let mut users: Vec<User> = needed(work, keys).await?.iter().map(|(by, key)| unit_needs(by, key)).collect();
    users.extend(started(work, keys).await?.into_iter().map(|(by, _)| by));
    Ok(users)
}

/// Returns jobs and webhooks with the function that each needs. They are not units, so no change
/// can remove them along.
async fn started(work: &mut Work<'_>, keys: &[UnitKey]) -> Result<Vec<(User, UnitKey)>> {
    let mut found = Vec::new();
    for key in keys.iter().filter(|key| key.kind == UnitKind::Function) {
        let Some(unit) = units::find(work.tx, work.app.id, key.kind, &key.name).await? else { continue };
        let by = needs::of_function(work.tx, unit.id, key).await?;
        found.extend(by.into_iter().map(|by| (by, key.clone())));
    }
    Ok(found)
}

/// Returns pairs of a unit that the app has now and one of `keys` that it needs.
pub(super) async fn needed(work: &mut Work<'_>, keys: &[UnitKey]) -> Result<Vec<(UnitKey, UnitKey)>> {
    let mut found = Vec::new();
    if keys.is_empty() {
        return Ok(found);
    }
    for (by, spec) in contents::of_dependents(work.tx, work.app.id).await? {
        found.extend(keys.iter().filter(|key| needs(&spec, key)).map(|key| (by.clone(), key.clone())));
    }
    Ok(found)
}

fn needs(spec: &UnitSpec, key: &UnitKey) -> bool {
    match (spec, key.kind) {
        (UnitSpec::Package(package), UnitKind::Environment) => package.environment.name == key.name,
        (UnitSpec::Function(function), UnitKind::Environment) => function.environment.name == key.name,
        (UnitSpec::Function(function), UnitKind::Package) => function.package.name == key.name,
        (UnitSpec::Function(function), UnitKind::Secret) => function.secrets.contains(&key.name),
        (spec, UnitKind::Function) => spec.target().is_some_and(|target| target.function == key.name),
        _ => false,
    }
}

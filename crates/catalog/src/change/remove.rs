//! Taking a unit out of the app.

use milepost_model::change::{UnitAction, UnitKey, UnitOutcome};
use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::{Code, Refusal, UnitKind, UnitSpec};
use serde_json::json;

use super::Draft;
use crate::error::Result;
use crate::read;
use crate::tables::aliases::AliasRow;
use crate::tables::pointer_moves::{self, NewMove, Pointer};
use crate::tables::units::{self, UnitRow};
use crate::tables::{aliases, contents, memberships, versions};
use crate::work::Work;

/// Apps have hundreds of units, not millions; all of a kind are read at once.
const ALL: i64 = i64::MAX;

pub(super) async fn apply(work: &mut Work<'_>, draft: &mut Draft<'_>, key: &UnitKey) -> Result<()> {
    let mut unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    take_out(work, &mut unit, draft.seq).await?;
    versions::retire_all(work.tx, unit.id).await?;
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

/// The app has no version of the unit from `seq` on; its aliases go, but for those that an active release needs.
pub(crate) async fn take_out(work: &mut Work<'_>, unit: &mut UnitRow, seq: i64) -> Result<()> {
    memberships::close(work.tx, unit.id, seq).await?;
    for alias in aliases::list(work.tx, unit.id).await? {
        // A release that can still be reached may have a route on the alias: it stays for as long as one does.
        if read::release_triggers_following(work.tx, &work.app, &unit.name, &alias.name).await?.is_empty() {
            drop_alias(work, unit, &alias).await?;
        }
    }
    let before = json!({ "lastNumber": unit.last_number });
    work.event(EventKind::UnitRemoved, &unit.key().to_string(), Some(before), None);
    unit.current_version_id = None;
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
    work.event(EventKind::AliasDeleted, &subject, None, Some(json!({ "why": why })));
    Ok(())
}

/// Aliases of removed units that no active release follows any more: a sweep takes them before what they hold.
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

/// Nothing that stays may need what goes: the error names everything that does.
pub(crate) async fn check_references(work: &mut Work<'_>, removed: &[UnitKey]) -> Result<()> {
    if removed.is_empty() {
        return Ok(());
    }
    let mut blockers = Vec::new();
    for kind in [UnitKind::Package, UnitKind::Function, UnitKind::Route, UnitKind::Timer] {
        for unit in units::list_present(work.tx, work.app.id, Some(kind), None, ALL).await? {
            let Some(id) = unit.current_version_id else { continue };
            let Some(content_id) = versions::get(work.tx, id).await?.content_id else { continue };
            let spec = contents::get(work.tx, content_id).await?;
            for key in removed.iter().filter(|key| needs(&spec, key)) {
                blockers.push(format!("{} needs {key}", unit.key()));
            }
        }
    }
    if blockers.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = removed.iter().map(ToString::to_string).collect();
    let message = format!("Cannot remove {}: other units of the app need it.", names.join(", "));
    Err(Refusal::new(Code::StillReferenced, message)
        .hint("remove or change those first, or in the same change")
        .blockers(blockers)
        .into())
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

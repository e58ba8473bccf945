use milepost_model::event::EventKind;
use milepost_model::pointer::{Alias, Step, rollback_target};
use milepost_model::refusal::View;
use milepost_model::{AliasName, AppName, Code, Next, Refusal, Selector, UnitKind, UnitName};
use serde_json::json;

use crate::Catalog;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::tables::aliases::{self, AliasRow};
use crate::tables::pointer_moves::{self, NewMove, Pointer};
use crate::tables::units::{self, UnitRow};
use crate::tables::versions::{self, VersionRow, VersionState};
use crate::work::Work;
use crate::{needs, read, resolve};

/// Number of newest moves that a rollback looks at.
const HISTORY: i64 = 1000;

/// Where an alias should point.
#[derive(Debug, Clone)]
pub struct SetAlias {
    pub function: UnitName,
    pub alias: AliasName,
    pub selector: Selector,
    pub existing: bool,
    pub why: String,
}

impl Catalog {
    /// Creates an alias, or with `existing` moves one that must exist.
    pub async fn alias_set(&self, app: &AppName, actor: &str, new: SetAlias) -> Result<Written<Alias>> {
        let SetAlias { function, alias, selector, existing, why } = new;
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &function).await?;
                let found = aliases::find(work.tx, unit.id, &alias).await?;
                match (&found, existing) {
                    (Some(_), false) => {
                        let message = format!("function `{function}` already has an alias `{alias}`");
                        let next = Next::MoveAlias { function: function.to_string(), alias: alias.to_string() };
                        return Err(Refusal::new(Code::AliasExists, message).next(next).into());
                    }
                    (None, true) => return Err(resolve::unknown_alias(work.tx, &unit, alias.as_str()).await?.into()),
                    _ => {}
                }
                let version = resolve::version(work.tx, &unit, &selector).await?;
                set(work, &unit, &alias, found.as_ref(), &version, Step::Forward, &why).await
            })
        })
        .await
    }

    /// Moves an alias back to its previous target.
    pub async fn alias_rollback(
        &self,
        app: &AppName,
        actor: &str,
        function: UnitName,
        alias: AliasName,
        why: String,
    ) -> Result<Written<Alias>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &function).await?;
                let Some(found) = aliases::find(work.tx, unit.id, &alias).await? else {
                    return Err(resolve::unknown_alias(work.tx, &unit, alias.as_str()).await?.into());
                };
                let pointer = Pointer::Alias { unit_id: unit.id, name: alias.as_str() };
                let moves = pointer_moves::list(work.tx, work.app.id, pointer, None, HISTORY).await?;
                let mut steps = Vec::new();
                for step in moves.iter().rev() {
                    let Some(id) = step.to_id else {
                        // The alias was deleted and created again: earlier moves belong to a
                        // different alias.
                        steps.clear();
                        continue;
                    };
                    if id == found.version_id || versions::get(work.tx, id).await?.state == VersionState::Active {
                        steps.push((id, step.step));
                    }
                }
                let Some(target) = rollback_target(&steps) else {
                    let message = format!("alias `{alias}` of `{function}` was at no earlier version");
                    let view = View::AliasHistory { function: function.to_string(), alias: alias.to_string() };
                    return Err(Refusal::new(Code::NothingToRollBackTo, message).see(view).into());
                };
                let version = versions::get(work.tx, target).await?;
                let why = if why.is_empty() { "rollback".to_owned() } else { why };
                set(work, &unit, &alias, Some(&found), &version, Step::Back, &why).await
            })
        })
        .await
    }

    /// Deletes an alias, never a version. Rejected while a route, timer, job or webhook of the app
    /// follows it.
    pub async fn alias_delete(
        &self,
        app: &AppName,
        actor: &str,
        function: UnitName,
        alias: AliasName,
    ) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &function).await?;
                remove(work, &unit, &alias).await
            })
        })
        .await
    }
}

pub(crate) async fn remove(work: &mut Work<'_>, unit: &UnitRow, alias: &AliasName) -> Result<()> {
    let Some(found) = aliases::find(work.tx, unit.id, alias).await? else {
        return Err(resolve::unknown_alias(work.tx, unit, alias.as_str()).await?.into());
    };
    check_unused(work, unit, alias).await?;
    aliases::delete(work.tx, unit.id, alias).await?;
    record(work, unit, alias, Some(found.version_id), None, Step::Forward, "deleted").await?;
    let version = versions::get(work.tx, found.version_id).await?;
    let subject = format!("alias {alias} of {}", unit.key());
    work.event(EventKind::AliasDeleted, &subject, Some(json!({ "number": version.number })), None);
    Ok(())
}

pub(crate) async fn set(
    work: &mut Work<'_>,
    unit: &UnitRow,
    alias: &AliasName,
    found: Option<&AliasRow>,
    version: &VersionRow,
    step: Step,
    why: &str,
) -> Result<Alias> {
    let from = found.map(|found| found.version_id);
    if from == Some(version.id) {
        // The alias does not move, so nothing is recorded.
        return read::alias_view(work.tx, unit, alias).await;
    }
    let row = AliasRow {
        name: alias.clone(),
        version_id: version.id,
        moved_at: work.act.at,
        moved_by: work.act.actor.clone(),
    };
    aliases::set(work.tx, unit.id, &row).await?;
    record(work, unit, alias, from, Some(version.id), step, why).await?;
    let before = match from {
        Some(id) => Some(json!({ "number": versions::get(work.tx, id).await?.number })),
        None => None,
    };
    let after = json!({ "number": version.number, "uid": version.uid, "why": why });
    work.event(EventKind::AliasMoved, &format!("alias {alias} of {}", unit.key()), before, Some(after));
    read::alias_view(work.tx, unit, alias).await
}

async fn record(
    work: &mut Work<'_>,
    unit: &UnitRow,
    alias: &AliasName,
    from: Option<i64>,
    to: Option<i64>,
    step: Step,
    why: &str,
) -> Result<()> {
    let pointer = Pointer::Alias { unit_id: unit.id, name: alias.as_str() };
    let new = NewMove { from_id: from, to_id: to, step, at: work.act.at, by: &work.act.actor, why };
    pointer_moves::insert(work.tx, work.app.id, pointer, &new).await
}

/// Rejects the change if a trigger in the app or in an active release would lose its target.
async fn check_unused(work: &mut Work<'_>, unit: &UnitRow, alias: &AliasName) -> Result<()> {
    let function = &unit.name;
    let mut users = read::triggers_following(work.tx, &work.app, function, alias).await?;
    users.extend(needs::of_alias(work.tx, unit.id, alias).await?);
    if users.is_empty() {
        return Ok(());
    }
    let message = format!("alias `{alias}` of `{function}` is in use");
    Err(Refusal::new(Code::InUse, message).correct("point those at another version first").users(users).into())
}

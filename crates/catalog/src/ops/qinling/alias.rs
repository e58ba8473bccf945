//! Aliases in v1 are identified by name alone, so a name stands for one alias in the whole app.

use std::sync::Arc;

use milepost_model::change::{UnitAction, UnitOutcome};
use milepost_model::pointer::Step;
use milepost_model::refusal::View;
use milepost_model::{AliasName, AppName, Code, Next, Refusal, Selector, UnitKind, UnitName};

use crate::db::{Ending, Tx};
use crate::effects::Written;
use crate::error::Result;
use crate::ops::alias;
use crate::ops::execution::clean;
use crate::tables::apps::AppRow;
use crate::tables::qinling::jobs;
use crate::tables::qinling::{self, V1Alias};
use crate::tables::units::{self, UnitRow};
use crate::tables::{aliases, versions};
use crate::work::Work;
use crate::{Catalog, resolve, uuids};

const WHY: &str = "v1";
const FOLLOWING: &str = "following";

impl Catalog {
    /// Creates an alias whose name no function of the app uses yet.
    pub async fn v1_alias_create(
        &self,
        app: &AppName,
        actor: &str,
        name: AliasName,
        (function, selector): (UnitName, Selector),
        description: String,
    ) -> Result<Written<V1Alias>> {
        let ids = Arc::clone(self.ids());
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                if let Some(taken) = first(work.tx, &work.app, &name).await? {
                    let message = format!("function `{}` already has an alias `{name}`", taken.function);
                    return Err(Refusal::new(Code::AliasExists, message).correct("choose another name").into());
                }
                let unit = point(work, &name, &function, &selector).await?;
                let alias = V1Alias {
                    id: uuids::v4(&*ids),
                    name: name.clone(),
                    function,
                    version: 0,
                    number: None,
                    follows: false,
                    description: clean(&description),
                    created_at: work.act.at,
                    updated_at: None,
                };
                qinling::put_alias(work.tx, unit.id, &alias).await?;
                set_follows(work, &unit, &name, selector == Selector::Latest).await?;
                get(work.tx, &work.app, &name).await
            })
        })
        .await
    }

    /// Moves an alias to another version or another function, or edits its description.
    pub async fn v1_alias_update(
        &self,
        app: &AppName,
        actor: &str,
        name: AliasName,
        target: Option<(UnitName, Selector)>,
        description: Option<String>,
    ) -> Result<Written<V1Alias>> {
        let ids = Arc::clone(self.ids());
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut known = get(work.tx, &work.app, &name).await?;
                let was = known.clone();
                let before = units::get_present(work.tx, &work.app, UnitKind::Function, &known.function).await?;
                let mut unit = before.clone();
                if let Some((function, selector)) = target {
                    if function != known.function {
                        // An alias belongs to its function, so moving it to another one makes a new
                        // alias. Jobs and webhooks that follow it move along. Routes and timers are
                        // code and block the move.
                        let to = units::get_present(work.tx, &work.app, UnitKind::Function, &function).await?;
                        jobs::repoint(work.tx, &name, before.id, to.id, work.act.at).await?;
                        alias::remove(work, &before, &name).await?;
                        qinling::delete_alias(work.tx, before.id, &name).await?;
                        set_follows(work, &before, &name, false).await?;
                    }
                    unit = point(work, &name, &function, &selector).await?;
                    set_follows(work, &unit, &name, selector == Selector::Latest).await?;
                }
                known.description = description.map_or(known.description, |text| clean(&text));
                known.id = if known.id.is_empty() { uuids::v4(&*ids) } else { known.id };
                qinling::put_alias(work.tx, unit.id, &known).await?;
                let mut now = get(work.tx, &work.app, &name).await?;
                let place = |alias: &V1Alias| (alias.function.clone(), alias.version, alias.follows);
                if place(&now) != place(&was) || now.description != was.description {
                    now.updated_at = Some(work.act.at);
                    qinling::put_alias(work.tx, unit.id, &now).await?;
                }
                Ok(now)
            })
        })
        .await
    }

    pub async fn v1_alias_delete(&self, app: &AppName, actor: &str, name: AliasName) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let known = get(work.tx, &work.app, &name).await?;
                let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &known.function).await?;
                alias::remove(work, &unit, &name).await?;
                set_follows(work, &unit, &name, false).await?;
                qinling::delete_alias(work.tx, unit.id, &name).await
            })
        })
        .await
    }

    pub async fn v1_alias_get(&self, app: &AppName, name: AliasName) -> Result<V1Alias> {
        self.look(app, move |tx, app| Box::pin(async move { get(tx, &app, &name).await })).await
    }

    /// Sorted by name. If functions share a name, returns the alias that v1 would find.
    pub async fn v1_alias_list(&self, app: &AppName) -> Result<Vec<V1Alias>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut found = qinling::list_aliases(tx, app.id, None).await?;
                found.dedup_by(|other, first| other.name == first.name);
                Ok(found)
            })
        })
        .await
    }
}

async fn first(tx: &mut Tx, app: &AppRow, name: &AliasName) -> Result<Option<V1Alias>> {
    Ok(qinling::list_aliases(tx, app.id, Some(name)).await?.into_iter().next())
}

async fn get(tx: &mut Tx, app: &AppRow, name: &AliasName) -> Result<V1Alias> {
    if let Some(found) = first(tx, app, name).await? {
        return Ok(found);
    }
    let names: Vec<String> =
        qinling::list_aliases(tx, app.id, None).await?.into_iter().map(|alias| alias.name.to_string()).collect();
    let message = format!("no function of app `{}` has an alias `{name}`", app.name);
    let see = [Next::See { view: View::Aliases { function: None } }];
    Err(Refusal::not_found(Code::AliasNotFound, message, name.as_str(), &names, see).into())
}

async fn point(work: &mut Work<'_>, name: &AliasName, function: &UnitName, selector: &Selector) -> Result<UnitRow> {
    let unit = units::get_present(work.tx, &work.app, UnitKind::Function, function).await?;
    let version = resolve::version(work.tx, &unit, selector).await?;
    let found = aliases::find(work.tx, unit.id, name).await?;
    alias::set(work, &unit, name, found.as_ref(), &version, Step::Forward, WHY).await?;
    Ok(unit)
}

/// Version 0 in v1 is the newest code, which an alias of it follows.
async fn set_follows(work: &mut Work<'_>, unit: &UnitRow, name: &AliasName, follows: bool) -> Result<()> {
    let Some(mut row) = qinling::of_unit(work.tx, unit.id).await? else { return Ok(()) };
    let mut names = qinling::following(&row.unit.facts);
    if names.contains(name) == follows {
        return Ok(());
    }
    names.retain(|known| known != name);
    names.extend(follows.then(|| name.clone()));
    if let Some(facts) = row.unit.facts.as_object_mut() {
        facts.insert(FOLLOWING.to_owned(), names.iter().map(AliasName::as_str).collect());
    }
    qinling::save_unit(work.tx, &row).await
}

/// After a change: moves aliases of version 0 to the functions' new code.
pub(crate) async fn follow(work: &mut Work<'_>, outcomes: &[UnitOutcome]) -> Result<()> {
    let moved = |outcome: &&UnitOutcome| outcome.kind == UnitKind::Function && outcome.action == UnitAction::Updated;
    let names: Vec<&UnitName> = outcomes.iter().filter(moved).map(|outcome| &outcome.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    for row in qinling::with_followers(work.tx, work.app.id).await? {
        if !names.contains(&&row.unit.name) {
            continue;
        }
        let unit = units::find_by_id(work.tx, row.unit_id).await?;
        let Some(current) = unit.current_version_id else { continue };
        let version = versions::get(work.tx, current).await?;
        for name in qinling::following(&row.unit.facts) {
            let Some(found) = aliases::find(work.tx, unit.id, &name).await? else { continue };
            alias::set(work, &unit, &name, Some(&found), &version, Step::Forward, WHY).await?;
        }
    }
    Ok(())
}

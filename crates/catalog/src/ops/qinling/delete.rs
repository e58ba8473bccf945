//! Deletes in v1, with v1's own rules, in one transaction with the check.

use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::PinRole;
use milepost_model::{AppName, Selector, Timestamp, UnitKind, UnitName, UnitSpec};

use super::change::refuse_used;
use super::held::{V1Held, V1Holder, V1Kept};
use super::units::{again, find, unpublished};
use crate::change::{self, ChangeInput};
use crate::db::Ending;
use crate::delete::{VersionsToDelete, delete};
use crate::effects::Written;
use crate::error::Result;
use crate::needs::Needed;
use crate::tables::units::{self, UnitRow};
use crate::tables::{aliases, contents, executions, jobs, qinling, versions, webhooks};
use crate::work::Work;
use crate::{Catalog, Checking};

/// Maximum number of blockers listed per kind.
const NAMED: i64 = 20;

/// Things that are found by their id alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V1Thing {
    Execution,
    Job,
    Webhook,
}

impl Catalog {
    /// Removes a function from its app, with the package that v1 made for it.
    pub async fn v1_function_delete(&self, app: &AppName, actor: &str, function: UnitName) -> Result<Written<()>> {
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let key = UnitKey { kind: UnitKind::Function, name: function };
                let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                let mut held = V1Held::of(V1Kept::Function);
                let jobs = jobs::open(work.tx, Needed::Function(unit.id), NAMED).await?;
                held.by(V1Holder::Job, jobs);
                let hooks = webhooks::ids(work.tx, Needed::Function(unit.id), NAMED).await?;
                held.by(V1Holder::Webhook, hooks);
                let names = aliases::list(work.tx, unit.id).await?.into_iter().map(|alias| alias.name.to_string());
                held.by(V1Holder::Alias, names);
                held.refuse()?;
                let package = own_package(work, &unit).await?;
                let removes = std::iter::once(key.clone()).chain(package).collect();
                let change = Change { message: format!("delete {key}"), removes, ..Change::default() };
                let secrets = std::collections::BTreeMap::new();
                let input = ChangeInput { change, secrets, actor: actor_name, idempotency_key: None };
                change::apply(work, &input).await.map(drop)
            })
        })
        .await
    }

    /// Removes a runtime from its app, unless a function of any app uses it.
    pub async fn v1_runtime_delete(&self, app: &AppName, actor: &str, runtime: UnitName) -> Result<Written<()>> {
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let key = UnitKey { kind: UnitKind::Environment, name: runtime };
                let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                if let Some(row) = qinling::of_unit(work.tx, unit.id).await? {
                    // Functions that are being created for it, also in other apps, either come
                    // before this or find it gone.
                    qinling::hold_runtime(work.tx, &row.unit.id).await?;
                    refuse_used(work, &row.unit).await?;
                }
                let change = Change { message: format!("delete {key}"), removes: vec![key], ..Change::default() };
                let secrets = std::collections::BTreeMap::new();
                let input = ChangeInput { change, secrets, actor: actor_name, idempotency_key: None };
                change::apply(work, &input).await.map(drop)
            })
        })
        .await
    }

    /// Deletes a published version, and its package version if no other version of the function is
    /// built on it. The newest code stays: if it was published under this number, it continues as a
    /// separate version.
    pub async fn v1_version_delete(
        &self,
        app: &AppName,
        actor: &str,
        function: UnitName,
        number_or_id: String,
    ) -> Result<Written<()>> {
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let key = UnitKey { kind: UnitKind::Function, name: function };
                let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                let Some(version) = find(work.tx, &unit, &number_or_id).await? else {
                    return Err(unpublished(&work.app, &unit, &number_or_id).into());
                };
                work.checking = Checking::SkippedOwn;
                let id = version.version_id;
                versions::hold_for_delete(work.tx, &[id]).await?;
                let mut held = V1Held::of(V1Kept::FunctionVersion);
                let jobs = jobs::open(work.tx, Needed::Version(id), NAMED).await?;
                held.by(V1Holder::Job, jobs);
                let hooks = webhooks::ids(work.tx, Needed::Version(id), NAMED).await?;
                held.by(V1Holder::Webhook, hooks);
                let (open, _) = executions::open_of_version(work.tx, id, NAMED).await?;
                held.by(V1Holder::Execution, open);
                if unit.current_version_id == Some(id) {
                    again(work, &key, "", &actor_name).await?;
                }
                // Aliases of version 0 have moved on by now.
                let names = aliases::of_version(work.tx, id).await?.into_iter().map(|alias| alias.name.to_string());
                held.by(V1Holder::Alias, names);
                held.refuse()?;
                let (key, number) = with_package(work, key, id, version.version).await?;
                delete(work, &key, &VersionsToDelete::One(Selector::Number(number)), false).await.map(drop)
            })
        })
        .await
    }

    /// Returns the app that an execution, a job or a webhook belongs to.
    pub async fn v1_home(&self, thing: V1Thing, id: String) -> Result<Option<AppName>> {
        self.db.read(move |tx| Box::pin(async move { qinling::home(tx, thing, &id).await })).await
    }

    /// Moves the next firing of a running job.
    pub async fn v1_job_next(&self, app: &AppName, actor: &str, id: String, at: Timestamp) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                if let Some(mut row) = jobs::lock(work.tx, work.app.id, &id).await?
                    && row.job.next_at.is_some_and(|next| next != at)
                {
                    row.job.next_at = Some(at);
                    row.job.updated_at = Some(work.act.at);
                    jobs::save(work.tx, &row.job).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// Rejects a change of the function while it has unfinished jobs.
pub(super) async fn refuse_jobs(work: &mut Work<'_>, function: &UnitRow) -> Result<()> {
    let mut held = V1Held::of(V1Kept::Function);
    let open = jobs::open(work.tx, Needed::Function(function.id), NAMED).await?;
    held.by(V1Holder::Job, open);
    held.refuse()
}

/// Returns the package that v1 made for the function, unless something else is built on it.
async fn own_package(work: &mut Work<'_>, unit: &UnitRow) -> Result<Option<UnitKey>> {
    let row = qinling::of_unit(work.tx, unit.id).await?;
    let Some(name) = row.and_then(|row| row.unit.facts["package"].as_str()?.parse::<UnitName>().ok()) else {
        return Ok(None);
    };
    let others = contents::of_dependents(work.tx, work.app.id).await?;
    let shared = others.iter().any(|(by, spec)| {
        *by != unit.key() && matches!(spec, UnitSpec::Function(function) if function.package.name == name)
    });
    let there = units::find(work.tx, work.app.id, UnitKind::Package, &name).await?;
    let there = there.is_some_and(|package| package.current_version_id.is_some());
    Ok((there && !shared).then_some(UnitKey { kind: UnitKind::Package, name }))
}

/// Returns the package version instead if the function version is the only one built on it:
/// deleting it also deletes the function version.
async fn with_package(work: &mut Work<'_>, key: UnitKey, id: i64, number: i64) -> Result<(UnitKey, i64)> {
    let pins = versions::pins_of(work.tx, &[id]).await?;
    let Some((_, _, target)) = pins.into_iter().find(|(_, role, _)| *role == PinRole::Package) else {
        return Ok((key, number));
    };
    let built_on = versions::pinned_by(work.tx, target, PinRole::Package).await?;
    let package = versions::get(work.tx, target).await?;
    let unit = units::find_by_id(work.tx, package.unit_id).await?;
    if built_on.iter().any(|version| version.id != id) || unit.current_version_id == Some(target) {
        return Ok((key, number));
    }
    Ok((unit.key(), package.number))
}

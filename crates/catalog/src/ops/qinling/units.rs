//! Writes of the v1 API that the ledger does not model. A v1 project is an app.

use std::sync::Arc;

use milepost_model::change::{Change, UnitKey};
use milepost_model::event::EventKind;
use milepost_model::unit_put::{FunctionPut, Put, ScalePut};
use milepost_model::{AppName, Code, Refusal, UnitKind, UnitName, UnitPut, UnitSpec};
use serde_json::json;

use crate::change::{self, ChangeInput};
use crate::db::{Ending, Tx};
use crate::effects::Written;
use crate::error::{CatalogError, Result};
use crate::ops::execution::clean;
use crate::tables::apps::AppRow;
use crate::tables::qinling::{self, V1Unit, V1UnitRow, V1Version};
use crate::tables::units::{self, UnitRow};
use crate::tables::versions;
use crate::work::Work;
use crate::{Catalog, Checking, uuids};

impl Catalog {
    /// Returns every function or environment of the app with its id. Assigns ids to those that v1
    /// has not seen yet.
    pub async fn v1_units(&self, app: &AppName, kind: UnitKind) -> Result<Vec<V1Unit>> {
        let unseen =
            self.look(app, move |tx, app| Box::pin(async move { qinling::unseen(tx, app.id, kind).await })).await?;
        if !unseen.is_empty() {
            let ids = Arc::clone(&self.ids);
            // Under the app's lock: a unit that is being removed must not get an id.
            self.work(app, "v1", Ending::Commit, move |work| {
                Box::pin(async move {
                    for (unit_id, at) in qinling::unseen(work.tx, work.app.id, kind).await? {
                        qinling::insert_unit(work.tx, work.app.id, unit_id, kind, &uuids::v4(&*ids), at).await?;
                    }
                    Ok(())
                })
            })
            .await?
            .unapplied();
        }
        self.look(app, move |tx, app| {
            Box::pin(async move {
                Ok(qinling::list_units(tx, app.id, kind).await?.into_iter().map(|row| row.unit).collect())
            })
        })
        .await
    }

    /// Returns the unit with this id, if the app has it now.
    pub async fn v1_unit(&self, app: &AppName, id: String) -> Result<Option<V1Unit>> {
        self.look(app, move |tx, app| {
            Box::pin(async move { Ok(qinling::find_unit(tx, app.id, &id).await?.map(|row| row.unit)) })
        })
        .await
    }

    /// Returns the v1 data of a unit by its name. The unit must be in the app.
    pub async fn v1_unit_named(&self, app: &AppName, key: UnitKey) -> Result<V1Unit> {
        let found = {
            let key = key.clone();
            self.look(app, move |tx, app| {
                Box::pin(async move {
                    let unit = units::get_present(tx, &app, key.kind, &key.name).await?;
                    Ok(qinling::of_unit(tx, unit.id).await?.map(|row| row.unit))
                })
            })
            .await?
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let ids = Arc::clone(&self.ids);
        self.work(app, "v1", Ending::Commit, move |work| {
            Box::pin(async move { Ok(seen(work, &key, &uuids::v4(&*ids)).await?.1.unit) })
        })
        .await
        .map(Written::unapplied)
    }

    /// Returns the unit with this id in any app.
    pub async fn v1_find(&self, id: String) -> Result<Option<V1Unit>> {
        self.db
            .read(move |tx| Box::pin(async move { Ok(qinling::find_anywhere(tx, &id).await?.map(|row| row.unit)) }))
            .await
    }

    /// Returns the environments that all apps may use.
    pub async fn v1_public_runtimes(&self) -> Result<Vec<V1Unit>> {
        self.v1_with_fact(UnitKind::Environment, "\"is_public\":true".to_owned(), i64::MAX).await
    }

    async fn v1_with_fact(&self, kind: UnitKind, fact: String, limit: i64) -> Result<Vec<V1Unit>> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let rows = qinling::with_fact(tx, kind, &fact, limit).await?;
                    Ok(rows.into_iter().map(|row| row.unit).collect())
                })
            })
            .await
    }

    /// Returns every v1 number in the app, or of one of its functions: the function, its number in
    /// the ledger, and the number in v1. Includes deleted versions.
    pub async fn v1_numbers(&self, app: &AppName, of: Option<UnitName>) -> Result<Vec<(UnitName, i64, i64)>> {
        self.look(app, move |tx, app| Box::pin(async move { qinling::numbers(tx, app.id, of.as_ref()).await })).await
    }

    /// Publishes a function's newest code under the next number. If that code is already published,
    /// it becomes a new version with the same content.
    pub async fn v1_publish(
        &self,
        app: &AppName,
        actor: &str,
        function: UnitName,
        description: String,
    ) -> Result<Written<V1Version>> {
        let ids = Arc::clone(&self.ids);
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let key = UnitKey { kind: UnitKind::Function, name: function };
                let (mut unit, mut row) = seen(work, &key, &uuids::v4(&*ids)).await?;
                let description = clean(&description);
                if qinling::of_version(work.tx, current(&unit)?).await?.is_some() {
                    again(work, &key, &description, &actor_name).await?;
                    unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
                } else if !description.is_empty() {
                    describe(work, &unit, current(&unit)?, &description).await?;
                }
                row.unit.last_number += 1;
                qinling::save_unit(work.tx, &row).await?;
                let head = versions::get(work.tx, current(&unit)?).await?;
                let version = V1Version {
                    id: uuids::v4(&*ids),
                    number: row.unit.last_number,
                    version: head.number,
                    version_id: head.id,
                    description: head.description,
                    executions: 0,
                    created_at: work.act.at,
                    updated_at: None,
                };
                qinling::insert_version(work.tx, unit.id, &version).await?;
                Ok(version)
            })
        })
        .await
    }

    /// Returns the published versions of a function, sorted by number.
    pub async fn v1_versions(&self, app: &AppName, function: UnitName) -> Result<Vec<V1Version>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                qinling::list_versions(tx, unit.id).await
            })
        })
        .await
    }

    /// Returns a published version by its number or its id.
    pub async fn v1_version(
        &self,
        app: &AppName,
        function: UnitName,
        number_or_id: String,
    ) -> Result<Option<V1Version>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                find(tx, &unit, &number_or_id).await
            })
        })
        .await
    }

    /// Returns the published version for a version number of the ledger, if there is one.
    pub async fn v1_version_of(&self, app: &AppName, function: UnitName, number: i64) -> Result<Option<V1Version>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let unit = units::get_present(tx, &app, UnitKind::Function, &function).await?;
                match versions::find_by_number(tx, unit.id, number).await? {
                    Some(version) => qinling::of_version(tx, version.id).await,
                    None => Ok(None),
                }
            })
        })
        .await
    }

    pub async fn v1_describe(
        &self,
        app: &AppName,
        actor: &str,
        function: UnitName,
        number_or_id: String,
        description: String,
    ) -> Result<Written<V1Version>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let unit = units::get_present(work.tx, &work.app, UnitKind::Function, &function).await?;
                let Some(version) = find(work.tx, &unit, &number_or_id).await? else {
                    return Err(unpublished(&work.app, &unit, &number_or_id).into());
                };
                let description = clean(&description);
                if version.description != description {
                    describe(work, &unit, version.version_id, &description).await?;
                    qinling::touch_version(work.tx, version.version_id, work.act.at).await?;
                }
                let found = qinling::of_version(work.tx, version.version_id).await?;
                found.ok_or_else(|| unpublished(&work.app, &unit, &number_or_id).into())
            })
        })
        .await
    }
}

fn current(unit: &UnitRow) -> Result<i64> {
    unit.current_version_id.ok_or_else(|| CatalogError::inconsistent(format!("{} has no version", unit.key())))
}

pub(super) async fn find(tx: &mut Tx, unit: &UnitRow, number_or_id: &str) -> Result<Option<V1Version>> {
    match number_or_id.parse() {
        Ok(number) => qinling::find_version(tx, unit.id, number).await,
        Err(_) => qinling::find_version_by_id(tx, unit.id, number_or_id).await,
    }
}

pub(crate) fn unpublished(app: &AppRow, unit: &UnitRow, number_or_id: &str) -> Refusal {
    let message = format!("function `{}` of app `{}` has no published version `{number_or_id}`", unit.name, app.name);
    Refusal::new(Code::VersionNotFound, message).correct("publish one first")
}

/// Returns a unit of the app with its v1 data; uses the id `fresh` if it has none yet.
pub(super) async fn seen(work: &mut Work<'_>, key: &UnitKey, fresh: &str) -> Result<(UnitRow, V1UnitRow)> {
    let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    if let Some(row) = qinling::of_unit(work.tx, unit.id).await? {
        return Ok((unit, row));
    }
    let at =
        versions::list(work.tx, unit.id, None, i64::MAX).await?.last().map_or(work.act.at, |first| first.created_at);
    qinling::insert_unit(work.tx, work.app.id, unit.id, key.kind, fresh, at).await?;
    let row = qinling::of_unit(work.tx, unit.id).await?;
    let row = row.ok_or_else(|| CatalogError::inconsistent(format!("{key} got no id")))?;
    Ok((unit, row))
}

async fn describe(work: &mut Work<'_>, unit: &UnitRow, version_id: i64, description: &str) -> Result<()> {
    let version = versions::get(work.tx, version_id).await?;
    if version.description == description {
        return Ok(());
    }
    versions::set_description(work.tx, version_id, description).await?;
    let before = json!({ "number": version.number, "description": version.description });
    let after = json!({ "number": version.number, "description": description });
    work.event(EventKind::VersionDescribed, &unit.key().to_string(), Some(before), Some(after));
    Ok(())
}

/// Makes a new version of a function with the same content, as a regular change. v1 has no field
/// for the number of instances, so a smaller plan lowers it here.
pub(super) async fn again(work: &mut Work<'_>, key: &UnitKey, description: &str, actor: &str) -> Result<()> {
    let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    let current = change::put::current(work, &unit).await?;
    let scale = match current.map(|current| current.spec) {
        Some(UnitSpec::Function(function)) => {
            let most = work.app.plan.limits().instances.filter(|most| function.scale.max > *most);
            most.map(|most| ScalePut { max: Some(most), ..ScalePut::default() })
        }
        _ => None,
    };
    let put = Put {
        name: key.name.clone(),
        label: None,
        description: Some(description.to_owned()),
        group: None,
        force: true,
        only: None,
        unit: UnitPut::Function(FunctionPut { merge: true, scale, ..FunctionPut::default() }),
    };
    let change = Change { message: format!("publish {key}"), puts: vec![put], ..Change::default() };
    let input = ChangeInput {
        change,
        secrets: std::collections::BTreeMap::new(),
        actor: actor.to_owned(),
        idempotency_key: None,
    };
    work.checking = Checking::SkippedOwn;
    change::apply(work, &input).await.map(drop)
}

//! Fields of v1 functions and environments that the ledger does not model, and the changes that
//! come with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_model::change::{Change, UnitKey};
use milepost_model::spec::PinRole;
use milepost_model::unit_put::{PutOnly, UnitPut};
use milepost_model::{AppName, Code, Digest, Refusal, UnitKind, UnitSpec};
use serde_json::{Map, Value, json};

use super::delete::refuse_jobs;
use super::units::seen;
use crate::change::{self, ChangeInput};
use crate::db::Ending;
use crate::effects::Written;
use crate::error::{CatalogError, Result};
use crate::tables::qinling::{self, V1Unit};
use crate::tables::units::{self, UnitRow};
use crate::tables::{contents, versions};
use crate::work::Work;
use crate::{Catalog, Checking, uuids};

/// A change that v1 makes to a function or an environment.
#[derive(Debug, Clone)]
pub struct V1Change {
    pub change: Change,
    /// The unit that it changes.
    pub key: UnitKey,
    /// Its v1 id, if known: another unit that has the name by now must not match.
    pub id: Option<String>,
    /// New values of v1 fields; others stay as they are.
    pub facts: Map<String, Value>,
    /// Values for fields that the unit does not have yet.
    pub defaults: Map<String, Value>,
    /// Reject the change while the function has unfinished jobs.
    pub unless_jobs: bool,
    /// The runtime that a function is made for; it must still exist.
    pub runtime: Option<String>,
}

impl V1Change {
    pub fn new(change: Change, key: UnitKey, facts: Map<String, Value>) -> Self {
        Self { change, key, id: None, facts, defaults: Map::new(), unless_jobs: false, runtime: None }
    }

    /// Reports whether the change creates the unit.
    fn makes(&self) -> bool {
        let put = self.change.puts.iter().find(|put| put.name == self.key.name && put.unit.kind() == self.key.kind);
        put.is_some_and(|put| put.only == Some(PutOnly::New))
    }

    /// Returns the source of the package that the change puts.
    fn source(&self) -> Option<Digest> {
        self.change.puts.iter().find_map(|put| match &put.unit {
            UnitPut::Package(package) => package.source,
            _ => None,
        })
    }
}

impl Catalog {
    /// Applies a change, if it puts anything, and stores the v1 fields of the unit, in one
    /// transaction with the checks.
    pub async fn v1_change(&self, app: &AppName, actor: &str, wanted: V1Change) -> Result<Written<V1Unit>> {
        let ids = Arc::clone(&self.ids);
        let actor_name = actor.to_owned();
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let made = wanted.makes();
                check(work, &wanted, made).await?;
                let V1Change { change, key, mut facts, defaults, .. } = wanted;
                let mut changed = false;
                if !change.puts.is_empty() {
                    // Clients of v1 expect that creating a function succeeds, and that its
                    // executions fail.
                    work.checking = Checking::SkippedOwn;
                    let secrets = BTreeMap::new();
                    let input = ChangeInput { change, secrets, actor: actor_name, idempotency_key: None };
                    let outcome = change::apply(work, &input).await?;
                    changed = outcome.changed;
                    let package = outcome.versions.iter().find(|unit| unit.kind == UnitKind::Package);
                    if let (Some(code), Some(package)) = (facts.get_mut("code"), package) {
                        code["package"] = json!(package.number);
                    }
                }
                let (_, mut row) = seen(work, &key, &uuids::v4(&*ids)).await?;
                let before = row.unit.facts.clone();
                let mut said = before.as_object().cloned().unwrap_or_default();
                for (name, value) in defaults {
                    said.entry(name).or_insert(value);
                }
                said.extend(facts);
                row.unit.facts = Value::Object(said);
                // Setting fields at creation does not count as an update.
                if !made && (changed || row.unit.facts != before) {
                    row.unit.updated_at = Some(work.act.at);
                }
                qinling::save_unit(work.tx, &row).await?;
                Ok(row.unit)
            })
        })
        .await
    }

    /// Replaces the v1 fields of a unit.
    pub async fn v1_set_facts(&self, app: &AppName, key: UnitKey, facts: Value) -> Result<V1Unit> {
        let ids = Arc::clone(&self.ids);
        self.work(app, "v1", Ending::Commit, move |work| {
            Box::pin(async move {
                let (_, mut row) = seen(work, &key, &uuids::v4(&*ids)).await?;
                if row.unit.facts != facts {
                    // Setting fields at creation does not count as an update.
                    let first = row.unit.facts == json!({});
                    row.unit.facts = facts;
                    row.unit.updated_at = if first { row.unit.updated_at } else { Some(work.act.at) };
                    qinling::save_unit(work.tx, &row).await?;
                }
                Ok(row.unit)
            })
        })
        .await
        .map(Written::unapplied)
    }
}

async fn check(work: &mut Work<'_>, wanted: &V1Change, made: bool) -> Result<()> {
    if let Some(id) = &wanted.runtime
        && !qinling::hold_runtime(work.tx, id).await?
    {
        return Err(Refusal::new(Code::UnitNotFound, format!("Runtime not found [id={id}]")).into());
    }
    if made {
        return Ok(());
    }
    let key = &wanted.key;
    let unit = units::get_present(work.tx, &work.app, key.kind, &key.name).await?;
    let row = qinling::of_unit(work.tx, unit.id).await?;
    if let Some(id) = &wanted.id
        && row.as_ref().is_none_or(|row| row.unit.id != *id)
    {
        let what = if key.kind == UnitKind::Environment { "Runtime" } else { "Function" };
        return Err(Refusal::new(Code::UnitNotFound, format!("{what} not found [id={id}]")).into());
    }
    if wanted.unless_jobs {
        refuse_jobs(work, &unit).await?;
    }
    if let Some(source) = wanted.source()
        && source_of(work, &unit).await? == Some(source)
    {
        return Err(Refusal::new(Code::InvalidRequest, "The function code checksum is not changed.").into());
    }
    if let Some(image) = wanted.facts.get("image")
        && let Some(row) = row
        && row.unit.facts.get("image").or(wanted.defaults.get("image")) != Some(image)
    {
        qinling::hold_runtime(work.tx, &row.unit.id).await?;
        refuse_used(work, &row.unit).await?;
    }
    Ok(())
}

/// Returns the source of the code that a function runs now.
async fn source_of(work: &mut Work<'_>, unit: &UnitRow) -> Result<Option<Digest>> {
    let Some(current) = unit.current_version_id else { return Ok(None) };
    let pins = versions::pins_of(work.tx, &[current]).await?;
    let Some((_, _, package)) = pins.into_iter().find(|(_, role, _)| *role == PinRole::Package) else {
        return Ok(None);
    };
    let Some(content) = versions::get(work.tx, package).await?.content_id else { return Ok(None) };
    match contents::get(work.tx, content).await? {
        UnitSpec::Package(package) => Ok(package.source),
        _ => Err(CatalogError::inconsistent(format!("{} is not built on a package", unit.key()))),
    }
}

/// Rejects a change to a runtime that functions of any app were made for, or that a unit of its own
/// app is built on. The caller must hold it (`qinling::hold_runtime`).
pub(super) async fn refuse_used(work: &mut Work<'_>, runtime: &V1Unit) -> Result<()> {
    let by_v1 =
        qinling::with_fact(work.tx, UnitKind::Function, &format!("\"runtime_id\":\"{}\"", runtime.id), 1).await?;
    let dependents = contents::of_dependents(work.tx, work.app.id).await?;
    let uses = |spec: &UnitSpec| match spec {
        UnitSpec::Function(function) => function.environment.name == runtime.name,
        UnitSpec::Package(package) => package.environment.name == runtime.name,
        _ => false,
    };
    if by_v1.is_empty() && !dependents.iter().any(|(_, spec)| uses(spec)) {
        return Ok(());
    }
    Err(Refusal::new(Code::InUse, format!("Runtime {} is still in use.", runtime.id)).into())
}

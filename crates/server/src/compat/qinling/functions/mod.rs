//! Functions of the v1 interface. Each is a function of the catalog with its own package.

pub(crate) mod code;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod detach;
pub(crate) mod environment;
pub(crate) mod get;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod scale;
pub(crate) mod scale_down;
pub(crate) mod scale_up;
pub(crate) mod update;
pub(crate) mod workers;

use std::collections::BTreeMap;

use milepost_catalog::{CatalogError, V1Change, V1Unit};
use milepost_model::change::UnitKey;
use milepost_model::spec::FunctionSpec;
use milepost_model::{AppName, Code, Selector, UnitKind};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{opt_time, time};
use super::project::Project;
use crate::error::internal;
use crate::state::State;

pub(crate) const FIELDS: [&str; 13] = [
    "id",
    "name",
    "description",
    "count",
    "runtime_id",
    "entry",
    "created_at",
    "updated_at",
    "cpu",
    "memory_size",
    "timeout",
    "latest_version",
    "code",
];
const MOST_INSTANCES: u32 = 64;
/// Marks functions created through this interface.
const CONVENTION: &str = "MILEPOST_CONVENTION";
/// The default entrypoint.
pub(crate) const ENTRY: &str = "main.main";

/// `runtime` is the id of the function's own environment, for functions not created through v1.
pub(crate) fn show(unit: &V1Unit, spec: &FunctionSpec, runtime: Option<String>) -> Map<String, Value> {
    let facts = &unit.facts;
    let made_here = facts.get("runtime_id").is_some();
    let known = &facts["code"];
    let mut code = json!({ "source": "package" });
    // The newest code may have been deployed through another interface.
    if known["package"].as_i64() == spec.package.number && known["md5sum"].is_string() {
        code["md5sum"] = known["md5sum"].clone();
    }
    let object = json!({
        "id": unit.id,
        "name": facts.get("name").cloned().unwrap_or_else(|| json!(unit.name)),
        "description": facts["description"],
        "cpu": spec.cpu,
        "memory_size": spec.memory,
        "timeout": spec.timeout_ms.div_ceil(1000),
        "runtime_id": if made_here { facts["runtime_id"].clone() } else { json!(runtime) },
        "code": code,
        "entry": if spec.entrypoint.is_empty() { ENTRY } else { &spec.entrypoint },
        "count": unit.executions,
        "latest_version": unit.latest,
        "project_id": unit.app,
        "created_at": time(unit.created_at),
        "updated_at": opt_time(unit.updated_at),
    });
    object.as_object().cloned().unwrap_or_default()
}

/// The newest version of a function.
pub(crate) async fn head(state: &State, unit: &V1Unit) -> V1Result<FunctionSpec> {
    let key = UnitKey { kind: UnitKind::Function, name: unit.name.clone() };
    let version = state.catalog.version_get(&unit.app, key, Selector::Latest).await?;
    read_spec(version.spec)
}

pub(crate) fn read_spec(spec: Value) -> V1Result<FunctionSpec> {
    Ok(serde_json::from_value(spec).map_err(|error| internal(&error))?)
}

/// The JSON of a single function.
pub(crate) async fn shown(state: &State, unit: &V1Unit) -> V1Result<Map<String, Value>> {
    let spec = head(state, unit).await?;
    let mut runtime = None;
    if unit.facts.get("runtime_id").is_none() {
        let key = UnitKey { kind: UnitKind::Environment, name: spec.environment.name.clone() };
        runtime = state.catalog.v1_unit_named(&unit.app, key).await.ok().map(|environment| environment.id);
    }
    Ok(show(unit, &spec, runtime))
}

/// The maximum number of instances of one function: the limit of the project's plan, capped.
/// Clients expect each concurrent call to find a worker, but cannot set the number of workers.
async fn most_instances(state: &State, app: &AppName) -> V1Result<u32> {
    let plan = state.catalog.app_get(app).await?.plan;
    Ok(plan.limits().instances.unwrap_or(MOST_INSTANCES).min(MOST_INSTANCES))
}

/// Variables that make a worker call functions as v1 does, in a writable directory.
fn variables(convention: Option<&str>) -> BTreeMap<String, Option<String>> {
    let convention = convention.map(|name| (CONVENTION.to_owned(), Some(name.to_owned())));
    let writable = ("MILEPOST_WORKDIR".to_owned(), Some("writable".to_owned()));
    convention.into_iter().chain([writable]).collect()
}

/// Tries the requested name, then another one if it is taken: v1 names need not be unique.
pub(crate) async fn put(
    state: &State,
    project: &Project,
    make: impl Fn(bool) -> V1Result<V1Change> + Send + Sync,
) -> V1Result<V1Unit> {
    let wanted = make(false)?;
    let made = match state.catalog.v1_change(&project.name, project.actor(), wanted).await {
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::UnitExists => {
            let wanted = make(true)?;
            state.catalog.v1_change(&project.name, project.actor(), wanted).await?
        }
        other => other?,
    };
    Ok(state.apply(made).await)
}

/// Parses the JSON of the form field `code`, which must be an object.
fn read_code(text: &str) -> V1Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(code)) => Ok(code),
        _ => Err(Fault::bad("The field code must be a JSON object, for example {\"source\": \"package\"}.")),
    }
}

/// The expected checksum of the code.
fn read_md5(code: &Map<String, Value>) -> V1Result<Option<String>> {
    match code.get("md5sum") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Fault::bad("The md5sum of the code must be a string.")),
    }
}

/// Only packages are supported.
fn check_source(source: Option<&Value>) -> V1Result<()> {
    match source.and_then(Value::as_str) {
        Some("package") => Ok(()),
        Some(other @ ("swift" | "image")) => Err(Fault::bad(format!(
            "Functions of the source \"{other}\" are not supported here. Send the code as a zip in the field \"package\", with \
             code {{\"source\": \"package\"}}."
        ))),
        _ => Err(Fault::bad("Invalid code source specified, available sources: package")),
    }
}

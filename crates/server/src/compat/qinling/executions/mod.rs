//! Executions of the v1 interface.

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod log;
mod outcome;

use milepost_catalog::V1Thing;
use milepost_model::AppName;
use milepost_model::execution::{CauseKind, Execution};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{self, opt_time, time};
use super::project::Project;
use super::targets::{Names, input_text};
use crate::state::State;

pub(crate) const FIELDS: [&str; 11] = [
    "id",
    "function_alias",
    "function_id",
    "function_version",
    "description",
    "input",
    "result",
    "status",
    "sync",
    "created_at",
    "updated_at",
];

fn show(app: &AppName, names: &Names, execution: &Execution) -> Map<String, Value> {
    let object = json!({
        "id": execution.id,
        "description": description(execution),
        "input": input_text(execution.input.as_ref()),
        "result": outcome::result(execution),
        "status": outcome::status(execution.status),
        "sync": execution.sync,
        "project_id": app,
        "created_at": time(execution.created_at),
        "updated_at": opt_time(execution.finished_at.or(execution.started_at)),
    });
    let mut object = object.as_object().cloned().unwrap_or_default();
    let version = execution.version.as_ref().map(|version| version.number);
    names.tell(&mut object, &execution.function, &execution.selector, version, Some(execution.created_at));
    object
}

/// The description, or the cause if there is none.
fn description(execution: &Execution) -> Value {
    let by = |what: &str| format!("Created by {what} {}", execution.cause.id.as_deref().unwrap_or_default()).into();
    match (execution.description.as_str(), execution.cause.kind) {
        ("", CauseKind::Job) => by("Job"),
        ("", CauseKind::Timer) => by("Timer"),
        ("", CauseKind::Webhook) => by("Webhook"),
        ("", _) => Value::Null,
        (said, _) => said.into(),
    }
}

/// Finds an execution and its project.
async fn find(state: &State, project: &Project, id: &str) -> V1Result<(AppName, Execution)> {
    let unknown = || Fault::unknown("Execution", "id", id);
    let id = names::id(id)?;
    let home = state.catalog.v1_home(V1Thing::Execution, id.clone()).await?;
    let app = home.filter(|app| project.sees(app)).ok_or_else(unknown)?;
    match state.catalog.execution_get(&app, id).await {
        Err(error) if super::fault::is_unknown(&error) => Err(unknown()),
        found => Ok((app, found?)),
    }
}

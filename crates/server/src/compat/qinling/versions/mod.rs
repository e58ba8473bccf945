//! Published versions of functions.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;

use milepost_catalog::{V1Unit, V1Version};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{self, opt_time, time};
use crate::state::State;

pub(crate) const FIELDS: [&str; 7] =
    ["id", "function_id", "version_number", "description", "count", "created_at", "updated_at"];

pub(crate) fn show(unit: &V1Unit, version: &V1Version) -> Map<String, Value> {
    let said = version.description.as_str();
    let object = json!({
        "id": version.id,
        "function_id": unit.id,
        "version_number": version.number,
        "description": if said.is_empty() { Value::Null } else { said.into() },
        "count": version.executions,
        "project_id": unit.app,
        "created_at": time(version.created_at),
        "updated_at": opt_time(version.updated_at),
    });
    object.as_object().cloned().unwrap_or_default()
}

/// Finds a version by number or id.
async fn find(state: &State, unit: &V1Unit, version: &str) -> V1Result<V1Version> {
    let version = names::version(version)?;
    let found = state.catalog.v1_version(&unit.app, unit.name.clone(), version.clone()).await?;
    found.ok_or_else(|| Fault::unknown_version(&unit.id, &version))
}

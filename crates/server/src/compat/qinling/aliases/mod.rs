//! Aliases of the v1 interface. They are identified by name alone.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;

use milepost_catalog::V1Alias;
use milepost_model::{AliasName, AppName};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result, is_unknown};
use super::names::{opt_time, time};
use super::targets::Names;
use crate::state::State;

pub(crate) const FIELDS: [&str; 7] =
    ["id", "name", "function_id", "function_version", "description", "created_at", "updated_at"];

fn show(app: &AppName, names: &Names, alias: &V1Alias) -> Map<String, Value> {
    let said = alias.description.as_str();
    let object = json!({
        "id": if alias.id.is_empty() { Value::Null } else { alias.id.as_str().into() },
        "name": alias.name,
        "function_id": names.id(&alias.function),
        // An alias created through another interface may point at an unpublished version.
        "function_version": if alias.follows { json!(0) } else { json!(alias.number) },
        "description": if said.is_empty() { Value::Null } else { said.into() },
        "project_id": app,
        "created_at": time(alias.created_at),
        "updated_at": opt_time(alias.updated_at),
    });
    object.as_object().cloned().unwrap_or_default()
}

/// Finds an alias by the name in the path.
async fn find(state: &State, app: &AppName, name: &str) -> V1Result<V1Alias> {
    let unknown = || Fault::unknown("FunctionAlias", "name", name);
    let parsed: AliasName = name.parse().map_err(|_| unknown())?;
    match state.catalog.v1_alias_get(app, parsed).await {
        Err(error) if is_unknown(&error) => Err(unknown()),
        found => Ok(found?),
    }
}

use axum::Json;
use milepost_model::UnitKind;
use serde_json::{Value, json};

use super::spec_of;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// The warm interpreters on this node that wait for a function.
pub(crate) async fn pool(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Value>> {
    project.may()?;
    let unit = names::unit(&state, &project, UnitKind::Environment, &id).await?;
    let (total, available) = state.plane.runtime.spares(spec_of(&state, &unit).await?.runtime);
    Ok(Json(json!({ "name": unit.id, "capacity": { "total": total, "available": available } })))
}

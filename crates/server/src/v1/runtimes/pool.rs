use axum::Json;
use milepost_model::{Permission, UnitKind};
use serde_json::{Value, json};

use super::spec_of;
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::names;
use crate::v1::names::Path;
use crate::v1::project::Project;

/// The warm interpreters on this node that wait for a function.
pub(crate) async fn pool(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Value>> {
    project.may(Permission::Administer)?;
    let unit = names::unit(&state, &project, UnitKind::Environment, &id).await?;
    let (total, available) = state.plane.runtime.spares(spec_of(&state, &unit).await?.runtime);
    Ok(Json(json!({ "name": unit.id, "capacity": { "total": total, "available": available } })))
}

use axum::Json;
use milepost_model::{Permission, UnitKind};
use serde_json::{Map, Value};

use super::{show, spec_of};
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::names;
use crate::v1::names::Path;
use crate::v1::project::Project;

pub(crate) async fn get(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Map<String, Value>>> {
    project.may(Permission::Read)?;
    let unit = names::unit(&state, &project, UnitKind::Environment, &id).await?;
    Ok(Json(show(&unit, &spec_of(&state, &unit).await?, "available")))
}

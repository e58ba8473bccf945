use axum::Json;
use milepost_model::UnitKind;
use serde_json::{Map, Value};

use super::{show, spec_of};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

pub(crate) async fn get(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Map<String, Value>>> {
    project.may()?;
    let unit = names::unit(&state, &project, UnitKind::Environment, &id).await?;
    Ok(Json(show(&unit, &spec_of(&state, &unit).await?, "available")))
}

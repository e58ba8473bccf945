use axum::Json;
use milepost_model::Permission;
use serde_json::{Map, Value};

use super::{find, show};
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::targets::Names;

pub(crate) async fn get(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Map<String, Value>>> {
    project.may(Permission::Read)?;
    let (app, execution) = find(&state, &project, &id).await?;
    Ok(Json(show(&app, &Names::of_one(&state, &app, &execution.function).await?, &execution)))
}

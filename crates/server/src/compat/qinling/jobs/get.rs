use axum::Json;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

pub(crate) async fn get(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Json<Map<String, Value>>> {
    project.may()?;
    let (app, job) = find(&state, &project, &id).await?;
    Ok(Json(show(&app, &Names::of_one(&state, &app, &job.function).await?, &job)))
}

use axum::Json;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

pub(crate) async fn get(
    project: Project,
    state: Shared,
    Path(name): Path<String>,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let alias = find(&state, app, &name).await?;
    Ok(Json(show(app, &Names::of_one(&state, app, &alias.function).await?, &alias)))
}

use axum::Json;
use axum::http::HeaderMap;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

/// Knowing the id is enough to call a webhook, so reading it requires the permission to call
/// functions.
pub(crate) async fn get(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> V1Result<Json<Map<String, Value>>> {
    project.may()?;
    let (app, webhook) = find(&state, &project, &id).await?;
    Ok(Json(show(&app, &Names::of_one(&state, &app, &webhook.function).await?, &webhook, &headers)))
}

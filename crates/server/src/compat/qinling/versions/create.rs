use axum::Json;
use axum::http::StatusCode;
use milepost_model::UnitKind;
use serde_json::{Map, Value};

use super::show;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// Publishes the newest code under the next number.
pub(crate) async fn create(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let unit = names::own_unit(&state, &project, UnitKind::Function, &id).await?;
    let description = fields.short_text("description")?.unwrap_or_default();
    let made = state.catalog.v1_publish(app, project.actor(), unit.name.clone(), description).await?;
    Ok((StatusCode::CREATED, Json(show(&unit, &state.apply(made).await))))
}

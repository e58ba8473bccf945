use axum::Json;
use milepost_model::UnitKind;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// Edits the description, the only mutable field of a version.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let unit = names::own_unit(&state, &project, UnitKind::Function, &id).await?;
    let mut found = find(&state, &unit, &version).await?;
    if let Some(description) = fields.short_text("description")? {
        let number = found.number.to_string();
        let described = state.catalog.v1_describe(app, project.actor(), unit.name.clone(), number, description).await?;
        found = state.apply(described).await;
    }
    Ok(Json(show(&unit, &found)))
}

use axum::http::StatusCode;
use milepost_model::UnitKind;

use super::find;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::state::Shared;

pub(crate) async fn delete(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
) -> V1Result<StatusCode> {
    let app = project.may()?;
    let unit = names::own_unit(&state, &project, UnitKind::Function, &id).await?;
    let found = find(&state, &unit, &version).await?;
    let number = found.number.to_string();
    state.apply(state.catalog.v1_version_delete(app, project.actor(), unit.name.clone(), number).await?).await;
    state.plane.runtime.let_go(app, &unit.name, found.version, usize::MAX, 0);
    Ok(StatusCode::NO_CONTENT)
}

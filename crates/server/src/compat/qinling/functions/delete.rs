use axum::http::StatusCode;

use super::scale;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Deletes a function with all its versions.
pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    let app = project.may()?;
    let unit = names::owned(&state, &project, &id).await?;
    state.apply(state.catalog.v1_function_delete(app, project.actor(), unit.name.clone()).await?).await;
    scale::let_go_all(&state, app, &unit.name);
    Ok(StatusCode::NO_CONTENT)
}

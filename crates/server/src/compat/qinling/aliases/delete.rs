use axum::http::StatusCode;

use super::find;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Refused while a job or webhook follows the alias.
pub(crate) async fn delete(project: Project, state: Shared, Path(name): Path<String>) -> V1Result<StatusCode> {
    let app = project.may()?;
    let alias = find(&state, app, &name).await?;
    state.apply(state.catalog.v1_alias_delete(app, project.actor(), alias.name).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

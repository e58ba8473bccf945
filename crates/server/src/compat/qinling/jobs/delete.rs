use axum::http::StatusCode;

use super::find_own;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    let app = project.may()?;
    let job = find_own(&state, &project, &id).await?;
    state.apply(state.catalog.job_delete(app, project.actor(), job.id).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

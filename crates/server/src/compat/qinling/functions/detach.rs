use axum::http::StatusCode;

use super::scale::{self, Scaled};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::{Shared, State};

pub(crate) async fn head(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    Ok(detach(&state, &scale::find(&state, &project, &id, None).await?))
}

pub(crate) async fn version(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
) -> V1Result<StatusCode> {
    Ok(detach(&state, &scale::find(&state, &project, &id, Some(&version)).await?))
}

/// Stops all instances after their running calls have ended.
fn detach(state: &State, scaled: &Scaled) -> StatusCode {
    state.plane.runtime.let_go(&scaled.unit.app, &scaled.unit.name, scaled.number, usize::MAX, 0);
    StatusCode::ACCEPTED
}

use axum::http::StatusCode;

use super::scale::{self, Scaled};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::fields::Fields;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::{Shared, State};

pub(crate) async fn head(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<StatusCode> {
    let scaled = scale::find(&state, &project, &id, None).await?;
    down(&state, &scaled, &body.fields().await?)
}

pub(crate) async fn version(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
    body: Unread,
) -> V1Result<StatusCode> {
    let scaled = scale::find(&state, &project, &id, Some(&version)).await?;
    down(&state, &scaled, &body.fields().await?)
}

/// Stops instances, idle ones first, but keeps one.
fn down(state: &State, scaled: &Scaled, fields: &Fields) -> V1Result<StatusCode> {
    let count = scale::count(fields)?;
    state.plane.runtime.let_go(&scaled.unit.app, &scaled.unit.name, scaled.number, count, 1);
    Ok(StatusCode::ACCEPTED)
}

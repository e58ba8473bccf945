use axum::http::StatusCode;

use super::scale::{self, Scaled};
use crate::handlers::Shared;
use crate::state::State;
use crate::v1::fault::V1Result;
use crate::v1::fields::Fields;
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::unread::Unread;

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

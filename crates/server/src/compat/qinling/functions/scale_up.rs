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
    up(&state, &scaled, &body.fields().await?).await
}

pub(crate) async fn version(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
    body: Unread,
) -> V1Result<StatusCode> {
    let scaled = scale::find(&state, &project, &id, Some(&version)).await?;
    up(&state, &scaled, &body.fields().await?).await
}

/// Starts instances and keeps them for a while, up to the function's maximum.
async fn up(state: &State, scaled: &Scaled, fields: &Fields) -> V1Result<StatusCode> {
    let count = scale::count(fields)?;
    let function = scale::binding(state, scaled).await?;
    state.plane.runtime.warm_up(&function, count);
    Ok(StatusCode::ACCEPTED)
}

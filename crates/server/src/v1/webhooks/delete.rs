use axum::http::StatusCode;
use milepost_model::Permission;

use super::find_own;
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::names::Path;
use crate::v1::project::Project;

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    let app = project.may(Permission::MovePointer)?;
    let webhook = find_own(&state, &project, &id).await?;
    state.catalog.webhook_delete(app, project.actor(), webhook.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

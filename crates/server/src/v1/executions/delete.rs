use axum::http::StatusCode;
use milepost_model::Permission;

use super::find;
use crate::handlers::Shared;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::names::Path;
use crate::v1::project::Project;

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    let own = project.may(Permission::MovePointer)?;
    let (app, execution) = find(&state, &project, &id).await?;
    if app != *own {
        return Err(Fault::unknown("Execution", "id", &id));
    }
    state.catalog.execution_delete(&app, execution.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

use axum::http::StatusCode;

use super::find;
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    let own = project.may()?;
    let (app, execution) = find(&state, &project, &id).await?;
    if app != *own {
        return Err(Fault::unknown("Execution", "id", &id));
    }
    state.catalog.execution_delete(&app, execution.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

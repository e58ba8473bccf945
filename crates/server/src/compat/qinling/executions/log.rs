use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::find;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// The function's output, between the lines that clients expect around it. Empty until the
/// execution has ended.
pub(crate) async fn log(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<Response> {
    project.may()?;
    let (app, execution) = find(&state, &project, &id).await?;
    let mut log = String::new();
    if execution.status.is_ended() && !execution.attempts.is_empty() {
        let id = &execution.id;
        let written = state.catalog.execution_log(&app, id.clone()).await?;
        let end = if written.is_empty() || written.ends_with('\n') { "" } else { "\n" };
        log = format!("Start execution: {id}\n{written}{end}Finished execution: {id}\n");
    }
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], log).into_response())
}

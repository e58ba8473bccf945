use axum::Json;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::compat::qinling::unread::Unread;
use crate::executions::worker;
use crate::state::Shared;

/// Takes `{"status": "cancelled"}`, as for a job. Upstream has no call to cancel an execution.
pub(crate) async fn cancel(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let own = project.may()?;
    let fields = body.fields().await?;
    if fields.text("status")?.as_deref() != Some("cancelled") {
        return Err(Fault::bad("Only the status of an execution can be changed, and only to cancelled."));
    }
    let (app, execution) = find(&state, &project, &id).await?;
    if app != *own {
        return Err(Fault::unknown("Execution", "id", &id));
    }
    let execution = state.catalog.execution_cancel(&app, execution.id).await?;
    if execution.cancelling && !state.executions.cancel(&execution.id) {
        worker::tell(&state).await;
    }
    Ok(Json(show(&app, &Names::of_one(&state, &app, &execution.function).await?, &execution)))
}

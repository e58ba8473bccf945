use axum::Json;
use milepost_model::execution::Execution;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::executions::worker;
use crate::state::Shared;

/// Cancel an execution: a queued one at once, a running one as soon as its node is notified
///
/// The function of a running execution is notified that its caller is gone. Its result is
/// discarded.
#[utoipa::path(post, path = "/apps/{app}/executions/{execution}/cancel", tag = "executions", params(("app" = String, Path, description = "Name of the app"), ("execution" = String, Path, description = "Id of the execution")), responses((status = 200, body = Execution)))]
pub(crate) async fn executions_cancel(
    caller: Caller,
    state: Shared,
    Path((app, execution)): Path<(String, String)>,
) -> ApiResult<Json<Execution>> {
    let app = caller.on(&app)?;
    let found = state.catalog.execution_cancel(&app, execution).await?;
    if found.cancelling && !state.executions.cancel(&found.id) {
        worker::tell(&state).await;
    }
    Ok(Json(found))
}

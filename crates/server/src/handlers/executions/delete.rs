use axum::http::StatusCode;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete an execution that has ended
#[utoipa::path(delete, path = "/apps/{app}/executions/{execution}", tag = "executions", params(("app" = String, Path, description = "Name of the app"), ("execution" = String, Path, description = "Id of the execution")), responses((status = 204, description = "Done")))]
pub(crate) async fn executions_delete(
    caller: Caller,
    state: Shared,
    Path((app, execution)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    state.catalog.execution_delete(&app, execution).await?;
    Ok(StatusCode::NO_CONTENT)
}

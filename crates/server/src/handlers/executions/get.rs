use axum::Json;
use milepost_model::execution::Execution;

use super::seen_by;
use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get an execution, with its input, result and attempts
#[utoipa::path(get, path = "/apps/{app}/executions/{execution}", tag = "executions", params(("app" = String, Path, description = "Name of the app"), ("execution" = String, Path, description = "Id of the execution")), responses((status = 200, body = Execution)))]
pub(crate) async fn executions_get(
    caller: Caller,
    store: Stored,
    Path((app, execution)): Path<(String, String)>,
) -> ApiResult<Json<Execution>> {
    let app = caller.on(&app)?;
    Ok(Json(seen_by(&caller, store.catalog.execution_get(&app, execution).await?)))
}

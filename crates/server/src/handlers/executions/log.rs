use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get the log of an execution, which is empty until it has ended
///
/// While it runs, its lines are in the app's logs, with the execution's id as the request id.
#[utoipa::path(get, path = "/apps/{app}/executions/{execution}/log", tag = "executions", params(("app" = String, Path, description = "Name of the app"), ("execution" = String, Path, description = "Id of the execution")), responses((status = 200, description = "text/plain", content_type = "text/plain", body = String)))]
pub(crate) async fn executions_log(
    caller: Caller,
    store: Stored,
    Path((app, execution)): Path<(String, String)>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let log = store.catalog.execution_log(&app, execution).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], log).into_response())
}

use axum::http::StatusCode;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete a job, but keep its executions
#[utoipa::path(delete, path = "/apps/{app}/jobs/{job}", tag = "jobs", params(("app" = String, Path, description = "Name of the app"), ("job" = String, Path, description = "Id of the job, or its name")), responses((status = 204, description = "Done")))]
pub(crate) async fn jobs_delete(
    caller: Caller,
    state: Shared,
    Path((app, job)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let id = state.catalog.job_id(&app, job).await?;
    state.apply(state.catalog.job_delete(&app, caller.name(), id).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

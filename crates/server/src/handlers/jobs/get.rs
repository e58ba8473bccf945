use axum::Json;
use milepost_model::job::Job;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get a job
#[utoipa::path(get, path = "/apps/{app}/jobs/{job}", tag = "jobs", params(("app" = String, Path, description = "Name of the app"), ("job" = String, Path, description = "Id of the job, or its name")), responses((status = 200, body = Job)))]
pub(crate) async fn jobs_get(
    caller: Caller,
    store: Stored,
    Path((app, job)): Path<(String, String)>,
) -> ApiResult<Json<Job>> {
    let app = caller.on(&app)?;
    let id = store.catalog.job_id(&app, job).await?;
    Ok(Json(store.catalog.job_get(&app, id).await?))
}

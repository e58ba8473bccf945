use axum::Json;
use milepost_model::job::{Job, JobChange};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::executions::limits::{check_input, check_text};
use crate::state::Shared;

/// Change a job: pause, resume or cancel it, or change its pattern, count or input
#[utoipa::path(patch, path = "/apps/{app}/jobs/{job}", tag = "jobs", params(("app" = String, Path, description = "Name of the app"), ("job" = String, Path, description = "Id of the job, or its name")), request_body = JobChange, responses((status = 200, body = Job)))]
pub(crate) async fn jobs_update(
    caller: Caller,
    state: Shared,
    Path((app, job)): Path<(String, String)>,
    sent: Body<JobChange>,
) -> ApiResult<Json<Job>> {
    let app = caller.on(&app)?;
    let change = sent.read().await?;
    check_input(change.input.as_ref())?;
    check_text("name", change.name.as_deref().unwrap_or_default())?;
    let id = state.catalog.job_id(&app, job).await?;
    Ok(Json(state.apply(state.catalog.job_update(&app, caller.name(), id, change).await?).await))
}

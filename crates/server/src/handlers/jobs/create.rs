use axum::Json;
use milepost_model::job::{Job, NewJob};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::executions::limits::{check_input, check_text};
use crate::state::Shared;

/// Create a job: scheduled runs of a function
#[utoipa::path(post, path = "/apps/{app}/jobs", tag = "jobs", params(("app" = String, Path, description = "Name of the app")), request_body = NewJob, responses((status = 200, body = Job)))]
pub(crate) async fn jobs_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<NewJob>,
) -> ApiResult<Json<Job>> {
    let app = caller.on(&app)?;
    let new = sent.read().await?;
    check_input(new.input.as_ref())?;
    check_text("name", &new.name)?;
    Ok(Json(state.apply(state.catalog.job_create(&app, caller.name(), new).await?).await))
}

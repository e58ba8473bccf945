use axum::Json;
use milepost_client::api::Page;
use milepost_model::job::Job;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "jobs_list";

/// List jobs, newest first
#[utoipa::path(get, path = "/apps/{app}/jobs", tag = "jobs", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<Job>)))]
pub(crate) async fn jobs_list(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Job>>> {
    let app = caller.on(&app)?;
    let found = store.catalog.job_list(&app, paging.text(LIST, &store)?, paging.limit()?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

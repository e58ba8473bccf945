use axum::Json;
use milepost_client::api::Page;
use milepost_model::Timestamp;
use milepost_model::execution::{CauseKind, Execution, ExecutionFilter, ExecutionStatus};
use serde::Deserialize;
use utoipa::IntoParams;

use super::seen_by;
use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "executions_list";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wanted {
    /// Only executions of this function.
    function: Option<String>,
    /// Only executions of the version with this number.
    version: Option<i64>,
    /// Only executions with this status.
    #[param(inline)]
    status: Option<ExecutionStatus>,
    /// Only executions with this kind of cause.
    #[param(inline)]
    cause: Option<CauseKind>,
    /// Only executions with this cause: the id of a job or webhook, or the name of a timer.
    cause_id: Option<String>,
    /// Only executions accepted at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

/// List executions, newest first
///
/// Inputs and results above 16 KiB are omitted. Get a single execution to see them.
#[utoipa::path(get, path = "/apps/{app}/executions", tag = "executions", params(("app" = String, Path, description = "Name of the app"), Wanted, Paging), responses((status = 200, body = Page<Execution>)))]
pub(crate) async fn executions_list(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(wanted): Query<Wanted>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Execution>>> {
    let app = caller.on(&app)?;
    let filter = ExecutionFilter {
        function: wanted.function.as_deref().map(wire::function).transpose()?,
        version: wanted.version,
        status: wanted.status,
        cause: wanted.cause,
        cause_id: wanted.cause_id,
        since: wanted.since,
    };
    let below = paging.text(LIST, &store)?;
    let mut found = store.catalog.execution_list(&app, filter, below, paging.limit()?).await?;
    found.items = found.items.into_iter().map(|execution| seen_by(&caller, execution)).collect();
    Ok(Json(wire::page(LIST, &store, found)))
}

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use milepost_catalog::{Accept, RequestKey};
use milepost_model::execution::{Cause, Execution, NewExecution};
use milepost_model::refusal::View;
use milepost_model::{Code, Digest, Next, Refusal};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::edge::idempotency::idempotency_key;
use crate::error::{ApiResult, internal};
use crate::executions::limits::{check_input, check_text};
use crate::executions::{self, Accepted, Over};
use crate::state::Shared;

/// Run a function with an input, and with `sync` wait until it ends
///
/// The version is chosen now and does not change. Without `sync`, the execution is queued: it
/// survives restarts of the server and runs at least once. With `sync`, the response is sent when
/// the execution has ended, whether or not it succeeded.
#[utoipa::path(post, path = "/apps/{app}/executions", tag = "executions", params(("app" = String, Path, description = "Name of the app"), ("idempotency-key" = Option<String>, Header, description = "A request that is sent twice with the same key runs once; the second response is the first one's execution")), request_body = NewExecution, responses((status = 200, description = "It has ended", body = Execution), (status = 202, description = "It is queued", body = Execution)))]
pub(crate) async fn executions_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    headers: HeaderMap,
    sent: Body<NewExecution>,
) -> ApiResult<(StatusCode, Json<Execution>)> {
    let app = caller.on(&app)?;
    let new = sent.read().await?;
    check_input(new.input.as_ref())?;
    check_text("description", &new.description)?;
    let key = match idempotency_key(&headers)? {
        Some(key) => {
            let content = serde_json::to_vec(&new).map_err(|error| internal(&error))?;
            Some(RequestKey { key, fingerprint: Digest::of(&content), again_after_failure: false })
        }
        None => None,
    };
    let node = state.executions.node().to_owned();
    let started_by = caller.name().to_owned();
    let accept = Accept { new, headers: BTreeMap::new(), cause: Cause::API, started_by, node, key };
    let accepted = executions::accept(&state, app.clone(), accept).await.map_err(|error| internal(&error))?;
    match accepted? {
        Accepted::Queued(execution) if execution.status.is_ended() => Ok((StatusCode::OK, Json(*execution))),
        Accepted::Queued(execution) => Ok((StatusCode::ACCEPTED, Json(*execution))),
        Accepted::Ran(id, Over::Ended | Over::Postponed | Over::Unstarted) => {
            Ok((StatusCode::OK, Json(state.catalog.execution_get(&app, id).await?)))
        }
        Accepted::Ran(id, Over::LetGo) => {
            Err(Refusal::new(Code::Unavailable, "the server is stopping, and the execution has not ended")
                .next(Next::Retry)
                .see(View::Execution { id: id.to_string() })
                .into())
        }
    }
}

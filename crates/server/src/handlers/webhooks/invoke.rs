use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use milepost_client::api::Invoked;

use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::executions::webhook;
use crate::state::Shared;

/// Call a webhook, which queues an execution
///
/// Needs no token: knowing the id is enough. A webhook with a secret accepts only calls with the
/// header `x-milepost-signature-256` or `x-hub-signature-256`, whose value is `sha256=` and the
/// hexadecimal HMAC-SHA256 of the body. The input of the execution is the body (JSON unchanged, a
/// form as an object, other text as a string) or, without a body, the query. Accepts 20 calls per
/// second, with bursts of 40.
#[utoipa::path(post, path = "/webhooks/{webhook}/invoke", tag = "webhooks", security(()), params(("webhook" = String, Path, description = "Id of the webhook")), request_body(description = "The input: JSON, a form, or text; up to 1 MiB", content = Object), responses((status = 202, description = "It is queued", body = Invoked)))]
pub(crate) async fn webhooks_invoke(
    state: Shared,
    Path(id): Path<String>,
    request: Request,
) -> ApiResult<(StatusCode, Json<Invoked>)> {
    let execution = webhook::invoke(&state, &id, request, String::new()).await?;
    Ok((StatusCode::ACCEPTED, Json(Invoked { execution: execution.id })))
}

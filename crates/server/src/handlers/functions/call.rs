use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use milepost_gateway::{check_response_head, is_reserved_header};
use milepost_model::refusal::View;
use milepost_model::{Code, Refusal, Selector};
use milepost_runtime::{CallContext, CallError, Function};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::extract::{Path, Query};
use crate::edge::wire;
use crate::error::{ApiError, ApiResult};
use crate::serving::bind_alone;
use crate::state::Shared;

/// Prefix of headers meant for the function, which separates them from those of the API call.
const PREFIX: &str = "milepost-header-";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Call {
    /// Any selector. Defaults to `latest`.
    #[serde(default)]
    version: String,
    /// The method that the function receives. Defaults to `POST`.
    #[serde(default)]
    method: String,
    /// Path and query that the function receives. Defaults to `/`.
    #[serde(default)]
    path: String,
}

/// Call a function version directly, without routing, with the app's current configuration and
/// secrets
#[utoipa::path(post, path = "/apps/{app}/functions/{name}/call", tag = "functions", params(("app" = String, Path, description = "Name of the app"), ("name" = String, Path, description = "Name of the function"), Call), responses((status = 200, description = "What the function answered; its status is in `milepost-status`")))]
pub(crate) async fn functions_call(
    caller: Caller,
    state: Shared,
    Path((app, name)): Path<(String, String)>,
    Query(call): Query<Call>,
    request: Request,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let selector: Selector =
        if call.version.is_empty() { Selector::Latest } else { call.version.parse().map_err(Refusal::from)? };
    let serving = state.catalog.serving_function(&app, wire::function(&name)?, selector).await?;
    let function = Arc::new(bind_alone(serving)?);
    let request_id = request_id(&state);
    let call_token = state.views.call_token(&app).await?;
    let context = CallContext { request_id: request_id.clone().into(), call_token, ..CallContext::default() };
    let request = for_function(request, &call)?;
    match state.plane.runtime.call(&function, request, context).await {
        Ok(answer) => {
            check_response_head(answer.status(), answer.headers()).map_err(|reason| malformed(&reason, &request_id))?;
            Ok(answered(answer, &function, &request_id))
        }
        Err(error) => Err(refused(&error, &name, &request_id)),
    }
}

fn request_id(state: &Shared) -> String {
    let mut bytes = [0u8; 10];
    state.catalog.ids().fill(&mut bytes);
    data_encoding::BASE32_NOPAD.encode(&bytes).to_lowercase()
}

fn for_function(request: Request, call: &Call) -> ApiResult<http::Request<Body>> {
    let wrong = |what: &str, given: &str| {
        Refusal::new(Code::InvalidRequest, format!("`{given}` is not {what}")).see(View::Reference)
    };
    let method = if call.method.is_empty() { "POST" } else { &call.method };
    let path = if call.path.is_empty() { "/" } else { &call.path };
    let method: Method = method.parse().map_err(|_| wrong("an HTTP method", method))?;
    let uri: Uri = path.parse().map_err(|_| wrong("a path", path))?;
    let (parts, body) = request.into_parts();
    let mut given = http::Request::new(body);
    *given.method_mut() = method;
    *given.uri_mut() = uri;
    *given.headers_mut() = headers(&parts.headers);
    Ok(given)
}

fn headers(of_call: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in of_call {
        // Like a webhook's sender, the caller must not speak for the gateway or a proxy.
        let given = name.as_str().strip_prefix(PREFIX).and_then(|name| name.parse::<HeaderName>().ok());
        if let Some(name) = given.filter(|name| !is_reserved_header(name)) {
            headers.append(name, value.clone());
        }
    }
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        headers.extend(of_call.get(&name).map(|value| (name, value.clone())));
    }
    headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
    headers
}

fn answered(answer: http::Response<milepost_runtime::ResponseBody>, function: &Function, request_id: &str) -> Response {
    let (mut parts, body) = answer.into_parts();
    let status = HeaderValue::from(parts.status.as_u16());
    parts.status = http::StatusCode::OK;
    parts.headers.remove(header::CONNECTION);
    parts.headers.remove(header::TRANSFER_ENCODING);
    parts.headers.insert("milepost-status", status);
    parts.headers.insert("milepost-version", HeaderValue::from(function.number));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        parts.headers.insert("milepost-request-id", id);
    }
    Response::from_parts(parts, Body::new(body)).into_response()
}

/// The error for a response that the gateway would not send either.
fn malformed(reason: &str, request_id: &str) -> ApiError {
    Refusal::new(Code::FunctionMalformedResponse, reason).see(View::RequestLog { id: request_id.to_owned() }).into()
}

fn refused(error: &CallError, function: &str, request_id: &str) -> ApiError {
    let code = match error {
        CallError::Busy { .. } => Code::FunctionBusy,
        CallError::TimedOut { .. } => Code::FunctionTimeout,
        CallError::NotReady { .. } | CallError::NotFetched { .. } | CallError::NotStarted { .. } => {
            Code::FunctionNotReady
        }
        CallError::Crashed { .. } => Code::FunctionCrashed,
        CallError::Threw(_) => Code::FunctionFailed,
        CallError::Malformed { .. } => Code::FunctionMalformedResponse,
        CallError::RequestBody { .. } => Code::InvalidRequest,
        CallError::Stopping => Code::Unavailable,
    };
    let message = format!("function `{function}` did not respond: {error}");
    Refusal::new(code, message).see(View::RequestLog { id: request_id.to_owned() }).into()
}

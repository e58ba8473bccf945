//! The middleware of every request. `apply` adds the layers innermost first.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use milepost_model::{Code, Next as Step, Refusal};
use tower_http::catch_panic::CatchPanicLayer;

use crate::error::ApiError;
use crate::state::State;

pub(crate) fn apply(router: Router<State>, state: &State) -> Router<State> {
    router
        .layer(CatchPanicLayer::custom(|_panic| {
            tracing::error!("a handler panicked");
            ApiError(Refusal::new(Code::Internal, "something went wrong inside the server").next(Step::ReadServerLog))
                .into_response()
        }))
        .layer(from_fn_with_state(state.clone(), measure))
}

async fn measure(axum::extract::State(state): axum::extract::State<State>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = known_method(request.method());
    // The pattern, not the path: app names must not become labels.
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let (status, took) = (response.status().as_u16(), started.elapsed());
    state.metrics.request(method, &route, status, took);
    tracing::debug!(http.method = %method, http.route = %route, http.status = status, duration_ms = took.as_millis() as u64, "answered");
    response
}

/// Maps unknown methods to one label. Clients may send any method, and each would stay a label
/// forever.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

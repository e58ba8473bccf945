//! For those who watch the server. Whether it lives needs no token.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use milepost_model::Permission;

use super::Shared;
use crate::auth::Caller;
use crate::error::ApiResult;

/// Whoever asks gives up after a few seconds; an answer that comes later is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// The database and the blob store answer.
pub(crate) async fn readyz(state: Shared) -> impl IntoResponse {
    if !answers("the database", state.catalog.ping()).await {
        return (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n");
    }
    if !answers("the blob store", state.blobs.check()).await {
        return (StatusCode::SERVICE_UNAVAILABLE, "the blob store does not answer\n");
    }
    (StatusCode::OK, "ready\n")
}

async fn answers<E: std::error::Error + 'static>(what: &str, asked: impl Future<Output = Result<(), E>>) -> bool {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "not ready: {what} does not answer");
            false
        }
        Err(_) => {
            tracing::warn!("not ready: {what} did not answer in {} s", PATIENCE.as_secs());
            false
        }
    }
}

/// What the server does says something about what it holds: for tokens that may read all apps.
pub(crate) async fn metrics(caller: Caller, state: Shared) -> ApiResult<impl IntoResponse> {
    caller.may_everywhere(Permission::Read)?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, content_type)], state.metrics.render()))
}

//! For those who watch the server: no token needed, nothing told about apps.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::Shared;

/// The process runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// The database and the blob store answer.
pub(crate) async fn readyz(state: Shared) -> impl IntoResponse {
    if let Err(error) = state.catalog.ping().await {
        tracing::warn!(error = &error as &dyn std::error::Error, "not ready: the database does not answer");
        return (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n");
    }
    if let Err(error) = state.blobs.check().await {
        tracing::warn!(error = &error as &dyn std::error::Error, "not ready: the blob store does not answer");
        return (StatusCode::SERVICE_UNAVAILABLE, "the blob store does not answer\n");
    }
    (StatusCode::OK, "ready\n")
}

pub(crate) async fn metrics(state: Shared) -> impl IntoResponse {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], state.metrics.render())
}

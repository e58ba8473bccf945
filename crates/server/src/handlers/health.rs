//! Health checks and metrics. The health checks need no token.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::auth::Caller;
use crate::cluster::clock;
use crate::error::ApiResult;
use crate::state::Shared;

/// Clients of health checks give up after a few seconds, so a later response would be useless.
const PATIENCE: Duration = Duration::from_secs(5);

/// Liveness: the process runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Readiness: the database and the blob store respond. Further lines say what is wrong with a node
/// that is ready nevertheless.
pub(crate) async fn readyz(state: Shared) -> impl IntoResponse {
    if !answers("the database", state.catalog.ping()).await {
        return (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n".to_owned());
    }
    if !answers("the blob store", state.blobs.check()).await {
        return (StatusCode::SERVICE_UNAVAILABLE, "the blob store does not answer\n".to_owned());
    }
    let remarks = clock::remark(&state.catalog).into_iter();
    let remarks: String = remarks.map(|remark| format!("{remark}\n")).collect();
    (StatusCode::OK, format!("ready\n{remarks}"))
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

/// Metrics reveal something about the apps on this server, so they require a token that may read
/// all apps.
pub(crate) async fn metrics(caller: Caller, state: Shared) -> ApiResult<impl IntoResponse> {
    caller.everywhere()?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, content_type)], state.metrics.render()))
}

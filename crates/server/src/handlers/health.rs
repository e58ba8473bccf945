//! Health checks and metrics. The health checks need no token.

use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use milepost_model::AppName;

use crate::auth::Caller;
use crate::cluster::clock;
use crate::error::ApiResult;
use crate::state::{Shared, State};

/// Clients of health checks give up after a few seconds, so a later response would be useless.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two comparisons of the views with the database.
const LOOK: Duration = Duration::from_millis(50);

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
    match tokio::time::timeout(PATIENCE, behind(&state)).await {
        Ok(None) => {}
        Ok(Some(behind)) => return (StatusCode::SERVICE_UNAVAILABLE, behind),
        Err(_) => return (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n".to_owned()),
    }
    let remarks = clock::remark(&state.catalog)
        .into_iter()
        .chain(state.executions.able.remark())
        .chain(state.plane.history.remarks());
    let remarks: String = remarks.map(|remark| format!("{remark}\n")).collect();
    (StatusCode::OK, format!("ready\n{remarks}"))
}

/// Says which views are older than the ledger was when this was asked, after a moment in which they
/// may be refreshed.
async fn behind(state: &State) -> Option<String> {
    let until = tokio::time::Instant::now() + PATIENCE / 5;
    let mut asked: Option<Vec<AppName>> = None;
    loop {
        let now = match state.views.behind().await {
            Ok(now) => now.stale,
            Err(_) => return Some("the database does not answer\n".to_owned()),
        };
        // What changed since is not waited for.
        let asked = match &mut asked {
            Some(asked) => {
                asked.retain(|app| now.contains(app));
                asked
            }
            None => asked.insert(now),
        };
        let first = asked.first()?;
        // Not all writes refresh a view here, and the next poll is seconds away.
        state.views.look_now();
        if tokio::time::Instant::now() >= until {
            return Some(format!(
                "the views of {} apps are older than the database, of `{first}` for one\n",
                asked.len()
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
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

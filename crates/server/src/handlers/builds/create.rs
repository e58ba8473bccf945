use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use milepost_model::build::{BuildEvent, BuildRequest};
use milepost_model::{Code, Refusal};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::auth::Caller;
use crate::builds::{self, Wanted};
use crate::content::trees;
use crate::edge::extract::{Json, Path};
use crate::error::ApiResult;
use crate::state::Shared;

/// Interval of empty lines, so that proxies do not close the connection as idle.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const EVENTS_AHEAD: usize = 64;

/// Build a package from its source and stream events, one JSON object per line
///
/// The build lasts as long as the request: closing the connection cancels it. Empty lines keep the
/// connection open.
#[utoipa::path(post, path = "/apps/{app}/builds", tag = "builds", params(("app" = String, Path, description = "Name of the app")), request_body = BuildRequest, responses((status = 200, description = "Events; the last one is `done` or `failed`", content_type = "application/x-ndjson", body = BuildEvent)))]
pub(crate) async fn builds_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Json<BuildRequest>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let request = sent.read().await?;
    state.catalog.app_get(&app).await?;
    // The query also protects the source from a sweep during the build.
    if !state.catalog.blobs_missing(vec![request.source]).await?.is_empty() {
        let message = format!("the source of package `{}` is not on the server", request.package);
        return Err(Refusal::new(Code::MissingBlobs, message)
            .correct("upload it first")
            .missing(vec![request.source.to_string()])
            .into());
    }
    trees::check(&state.content, [request.source].into()).await?;
    let wanted = Wanted { app, request, caller: caller.name().to_owned() };
    let (tell, events) = mpsc::channel(EVENTS_AHEAD);
    let state = state.0;
    let building = tokio::spawn(async move { builds::run(&state, wanted, tell).await });
    // Dropped with the response body when the connection closes, which cancels the build.
    let building = AbortOnDropHandle::new(building);
    let lines = stream::unfold((events, building), |(mut events, building)| async move {
        let line = match tokio::time::timeout(KEEP_ALIVE, events.recv()).await {
            Ok(event) => line(&event?),
            Err(_) => Bytes::from_static(b"\n"),
        };
        Some((Ok::<_, Infallible>(line), (events, building)))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

fn line(event: &BuildEvent) -> Bytes {
    let mut bytes = serde_json::to_vec(event).unwrap_or_default();
    bytes.push(b'\n');
    bytes.into()
}

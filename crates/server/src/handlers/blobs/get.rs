use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::TryStreamExt;

use crate::auth::Caller;
use crate::content::trees;
use crate::edge::extract::{self, Path};
use crate::error::ApiResult;
use crate::state::Stored;

/// Blobs up to this size are read completely before the response starts, so that a damaged one gets
/// an error response.
const WHOLE: u64 = 256 << 10;

/// Download one blob
#[utoipa::path(get, path = "/apps/{app}/blobs/{digest}", tag = "blobs", params(("app" = String, Path, description = "Name of the app"), ("digest" = String, Path, description = "`sha256:…`")), responses((status = 200, description = "application/octet-stream", content_type = "application/octet-stream")))]
pub(crate) async fn blobs_get(
    caller: Caller,
    store: Stored,
    Path((app, digest)): Path<(String, String)>,
) -> ApiResult<Response> {
    caller.on(&app)?;
    let digest = extract::digest(&digest)?;
    let row = trees::locate(&store, digest).await?;
    let at = trees::location(&row)?;
    let headers = [(CONTENT_LENGTH, row.size.to_string()), (CONTENT_TYPE, "application/octet-stream".to_owned())];
    if at.size <= WHOLE {
        return Ok((headers, store.blobs.read(&at, digest).await?).into_response());
    }
    let stream = store.blobs.stream_verified(&at, digest).await?;
    // The response head is already sent, so operators learn the reason from the log.
    let stream = stream.inspect_err(move |error| {
        tracing::error!(error = error as &dyn std::error::Error, blob = %digest, "a blob could not be read to its end");
    });
    Ok((headers, Body::from_stream(stream)).into_response())
}

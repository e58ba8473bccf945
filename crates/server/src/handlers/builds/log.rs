use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::auth::Caller;
use crate::content::trees;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get the output of a build
#[utoipa::path(get, path = "/apps/{app}/builds/{build}/log", tag = "builds", params(("app" = String, Path, description = "Name of the app"), ("build" = String, Path, description = "Id of the build")), responses((status = 200, description = "text/plain", content_type = "text/plain", body = String)))]
pub(crate) async fn builds_log(
    caller: Caller,
    store: Stored,
    Path((app, build)): Path<(String, String)>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let body = match store.catalog.build_get(&app, build).await?.log {
        Some(digest) => {
            let row = trees::locate(&store, digest).await?;
            Body::from_stream(store.blobs.stream_verified(&trees::location(&row)?, digest).await?)
        }
        None => Body::empty(),
    };
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response())
}

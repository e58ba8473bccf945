use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use milepost_client::api::Uploaded;

use crate::auth::Caller;
use crate::content::ingest;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Upload many blobs in one request
#[utoipa::path(post, path = "/apps/{app}/blobs", tag = "blobs", params(("app" = String, Path, description = "Name of the app")), request_body(content = Vec<u8>, content_type = "application/vnd.milepost.pack", description = "`MPPACK01`, then for each blob a kind byte, its SHA-256, its size (u64 LE) and its bytes"), responses((status = 200, body = Uploaded)))]
pub(crate) async fn blobs_upload(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Uploaded>> {
    let app = caller.on(&app)?;
    Ok(Json(ingest::upload(&state.content, &app, &headers, body).await?))
}

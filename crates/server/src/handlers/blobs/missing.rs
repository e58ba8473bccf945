use axum::Json;
use milepost_client::api::{MissingAnswer, MissingBlobs};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::state::Shared;

/// List which of the given blobs the server does not have
#[utoipa::path(post, path = "/apps/{app}/blobs/missing", tag = "blobs", params(("app" = String, Path, description = "Name of the app")), request_body = MissingBlobs, responses((status = 200, body = MissingAnswer)))]
pub(crate) async fn blobs_missing(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<MissingBlobs>,
) -> ApiResult<Json<MissingAnswer>> {
    caller.on(&app)?;
    let body = sent.read().await?;
    Ok(Json(MissingAnswer { missing: state.catalog.blobs_missing(body.digests).await? }))
}

use axum::Json;
use milepost_client::api::Why;
use milepost_model::release::Release;

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Expire an unprotected release
#[utoipa::path(post, path = "/apps/{app}/releases/{release}/expire", tag = "releases", params(("app" = String, Path, description = "Name of the app"), ("release" = String, Path, description = "Release id, tag, `live` or `latest`")), request_body = Why, responses((status = 200, body = Release)))]
pub(crate) async fn releases_expire(
    caller: Caller,
    state: Shared,
    Path((app, release)): Path<(String, String)>,
    sent: Body<Why>,
) -> ApiResult<Json<Release>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let expired = state.apply(state.catalog.release_expire(&app, caller.name(), release, body.why).await?).await;
    Ok(Json(expired.with_urls(&state.urls, &app)))
}

use axum::Json;
use milepost_model::release::Release;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Show a release
#[utoipa::path(get, path = "/apps/{app}/releases/{release}", tag = "releases", params(("app" = String, Path, description = "Name of the app"), ("release" = String, Path, description = "Release id, tag, `live` or `latest`")), responses((status = 200, body = Release)))]
pub(crate) async fn releases_get(
    caller: Caller,
    state: Shared,
    Path((app, release)): Path<(String, String)>,
) -> ApiResult<Json<Release>> {
    let app = caller.on(&app)?;
    Ok(Json(state.catalog.release_get(&app, release).await?.with_urls(&state.urls, &app)))
}

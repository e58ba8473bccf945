use axum::Json;
use milepost_model::snapshot::AppVersion;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Show an app version with all its units
#[utoipa::path(get, path = "/apps/{app}/versions/{version}", tag = "app versions", params(("app" = String, Path, description = "Name of the app"), ("version" = String, Path, description = "Uid or number of an app version, or a release")), responses((status = 200, body = AppVersion)))]
pub(crate) async fn app_versions_get(
    caller: Caller,
    state: Shared,
    Path((app, version)): Path<(String, String)>,
) -> ApiResult<Json<AppVersion>> {
    let app = caller.on(&app)?;
    Ok(Json(state.catalog.app_version_get(&app, version).await?.with_urls(&state.urls, &app)))
}

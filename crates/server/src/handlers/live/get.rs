use axum::Json;
use milepost_model::release::Live;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Show what is live, and whether live follows new releases
#[utoipa::path(get, path = "/apps/{app}/live", tag = "live", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = Live)))]
pub(crate) async fn live_get(caller: Caller, state: Shared, Path(app): Path<String>) -> ApiResult<Json<Live>> {
    let app = caller.on(&app)?;
    Ok(Json(state.catalog.app_get(&app).await?.live.with_urls(&state.urls, &app)))
}

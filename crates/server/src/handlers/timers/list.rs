use axum::Json;
use milepost_model::timer::LiveTimers;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// List the timers of the live release, and when they fire
#[utoipa::path(get, path = "/apps/{app}/timers", tag = "timers", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = LiveTimers)))]
pub(crate) async fn timers_list(caller: Caller, store: Stored, Path(app): Path<String>) -> ApiResult<Json<LiveTimers>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.live_timers(&app).await?))
}

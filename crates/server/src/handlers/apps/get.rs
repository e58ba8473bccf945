use axum::Json;
use milepost_client::api::App;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Show an app
#[utoipa::path(get, path = "/apps/{app}", tag = "apps", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = App)))]
pub(crate) async fn apps_get(caller: Caller, state: Shared, Path(app): Path<String>) -> ApiResult<Json<App>> {
    let app = caller.on(&app)?;
    Ok(Json(wire::app(state.catalog.app_get(&app).await?, &state.urls)))
}

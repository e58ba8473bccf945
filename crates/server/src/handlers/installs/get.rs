use axum::Json;
use milepost_model::install::Install;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Show the status of an installed app
#[utoipa::path(get, path = "/apps/{app}/install", tag = "installs", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = Install)))]
pub(crate) async fn installs_get(caller: Caller, store: Stored, Path(app): Path<String>) -> ApiResult<Json<Install>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.install_get(&app).await?))
}

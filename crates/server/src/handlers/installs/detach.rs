use axum::Json;
use milepost_model::install::Install;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Detach an app from its channel: it stays unchanged but is no longer an install
#[utoipa::path(delete, path = "/apps/{app}/install", tag = "installs", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = Install)))]
pub(crate) async fn installs_detach(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
) -> ApiResult<Json<Install>> {
    let app = caller.on(&app)?;
    Ok(Json(state.apply(state.catalog.install_detach(&app, caller.name()).await?).await))
}

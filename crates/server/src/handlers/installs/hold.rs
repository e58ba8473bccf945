use axum::Json;
use milepost_model::install::{HoldInstall, Install};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::state::Shared;

/// Hold the upgrades of an installed app
#[utoipa::path(post, path = "/apps/{app}/install/hold", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = HoldInstall, responses((status = 200, body = Install)))]
pub(crate) async fn installs_hold(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<HoldInstall>,
) -> ApiResult<Json<Install>> {
    let app = caller.on(&app)?;
    let hold = sent.read().await?;
    Ok(Json(state.apply(state.catalog.install_hold(&app, caller.name(), hold).await?).await))
}

use axum::Json;
use milepost_model::install::{Install, LiftInstall};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::state::Shared;

/// Lift a hold and allow skipped versions again
#[utoipa::path(post, path = "/apps/{app}/install/lift", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = LiftInstall, responses((status = 200, body = Install)))]
pub(crate) async fn installs_lift(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<LiftInstall>,
) -> ApiResult<Json<Install>> {
    let app = caller.on(&app)?;
    let lift = sent.read().await?;
    Ok(Json(state.apply(state.catalog.install_lift(&app, caller.name(), lift).await?).await))
}

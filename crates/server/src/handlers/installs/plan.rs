use axum::Json;
use milepost_model::install::{Upgrade, UpgradePlan};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::installs;
use crate::state::Shared;

/// Show what the channel of an installed app offers, when each version is due, and what an upgrade
/// would install now
#[utoipa::path(post, path = "/apps/{app}/upgrade/plan", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = Upgrade, responses((status = 200, body = UpgradePlan)))]
pub(crate) async fn upgrade_plan(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<Upgrade>,
) -> ApiResult<Json<UpgradePlan>> {
    let app = caller.on(&app)?;
    let asked = sent.read().await?;
    Ok(Json(installs::plan(&state, &app, &asked).await?))
}

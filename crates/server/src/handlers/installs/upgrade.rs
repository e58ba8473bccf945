use axum::Json;
use milepost_model::install::{Installed, Upgrade};

use super::to_its_end;
use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::installs;
use crate::state::Shared;

/// Upgrade an installed app as far as its policy and the request allow
#[utoipa::path(post, path = "/apps/{app}/upgrade", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = Upgrade, responses((status = 200, body = Installed)))]
pub(crate) async fn upgrade_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<Upgrade>,
) -> ApiResult<Json<Installed>> {
    let app = caller.on(&app)?;
    let asked = sent.read().await?;
    let state = state.0;
    Ok(Json(to_its_end(async move { Box::pin(installs::upgrade(&state, &app, caller.name(), asked)).await }).await?))
}

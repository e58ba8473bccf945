use axum::Json;
use axum::http::StatusCode;
use milepost_model::install::{Installed, NewInstall};

use super::to_its_end;
use crate::auth::Caller;
use crate::edge::extract::Json as Body;
use crate::error::ApiResult;
use crate::installs;
use crate::state::Shared;

/// Install an app from a channel or a registry
#[utoipa::path(post, path = "/installs", tag = "installs", request_body = NewInstall, responses((status = 201, body = Installed)))]
pub(crate) async fn installs_create(
    caller: Caller,
    state: Shared,
    sent: Body<NewInstall>,
) -> ApiResult<(StatusCode, Json<Installed>)> {
    installs::may_install(&caller)?;
    let new = sent.read().await?;
    let state = state.0;
    let installed = to_its_end(async move { Box::pin(installs::create(&state, &caller, new)).await }).await?;
    Ok((StatusCode::CREATED, Json(installed)))
}

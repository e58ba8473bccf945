use axum::Json;
use axum::http::StatusCode;
use milepost_client::api::{App, NewApp};

use crate::auth::Caller;
use crate::edge::extract::Json as Body;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Create an app
#[utoipa::path(post, path = "/apps", tag = "apps", request_body = NewApp, responses((status = 201, body = App)))]
pub(crate) async fn apps_create(
    caller: Caller,
    state: Shared,
    sent: Body<NewApp>,
) -> ApiResult<(StatusCode, Json<App>)> {
    caller.everywhere()?;
    let new = sent.read().await?;
    let app = state.apply(state.catalog.app_create(&new.name, new.plan, caller.name()).await?).await;
    Ok((StatusCode::CREATED, Json(wire::app(app, &state.urls))))
}

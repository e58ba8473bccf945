use axum::Json;
use milepost_catalog::LiveTarget;
use milepost_client::api::SetLive;
use milepost_model::release::Live;
use milepost_model::{Code, Refusal};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Pin live to a release, or let it follow new releases
#[utoipa::path(put, path = "/apps/{app}/live", tag = "live", params(("app" = String, Path, description = "Name of the app")), request_body = SetLive, responses((status = 200, body = Live)))]
pub(crate) async fn live_set(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<SetLive>,
) -> ApiResult<Json<Live>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let target = match (body.release, body.follow) {
        (Some(release), false) if body.force => LiveTarget::Forced(release),
        (Some(release), false) => LiveTarget::Release(release),
        (None, true) => LiveTarget::Follow,
        _ => {
            return Err(Refusal::new(
                Code::InvalidRequest,
                "the request has neither or both of `release` and `follow`",
            )
            .correct("give a release to pin live, or `follow` to let live follow new releases")
            .into());
        }
    };
    let live = state.apply(state.catalog.live_set(&app, caller.name(), target, body.why).await?).await;
    Ok(Json(live.with_urls(&state.urls, &app)))
}

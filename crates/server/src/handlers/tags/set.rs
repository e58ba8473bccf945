use axum::Json;
use milepost_client::api::SetTag;
use milepost_model::Refusal;
use milepost_model::release::Release;

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Point a tag at a release, moving it if it exists
#[utoipa::path(put, path = "/apps/{app}/tags/{tag}", tag = "tags", params(("app" = String, Path, description = "Name of the app"), ("tag" = String, Path, description = "Name of the tag")), request_body = SetTag, responses((status = 200, body = Release)))]
pub(crate) async fn tags_set(
    caller: Caller,
    state: Shared,
    Path((app, tag)): Path<(String, String)>,
    sent: Body<SetTag>,
) -> ApiResult<Json<Release>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let tag = tag.parse().map_err(Refusal::from)?;
    let tagged = state.apply(state.catalog.tag_set(&app, caller.name(), tag, body.release, body.why).await?).await;
    Ok(Json(tagged.with_urls(&state.urls, &app)))
}

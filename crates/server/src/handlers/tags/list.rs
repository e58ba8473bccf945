use axum::Json;
use milepost_client::api::Tag;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// List tags
#[utoipa::path(get, path = "/apps/{app}/tags", tag = "tags", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = Vec<Tag>)))]
pub(crate) async fn tags_list(caller: Caller, state: Shared, Path(app): Path<String>) -> ApiResult<Json<Vec<Tag>>> {
    let app = caller.on(&app)?;
    let tags = state.catalog.tag_list(&app).await?;
    Ok(Json(
        tags.into_iter().map(|(name, release)| Tag { name, release: release.with_urls(&state.urls, &app) }).collect(),
    ))
}

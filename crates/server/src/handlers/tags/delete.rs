use axum::http::StatusCode;
use milepost_model::Refusal;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete a tag without deleting its release
#[utoipa::path(delete, path = "/apps/{app}/tags/{tag}", tag = "tags", params(("app" = String, Path, description = "Name of the app"), ("tag" = String, Path, description = "Name of the tag")), responses((status = 204, description = "Done")))]
pub(crate) async fn tags_delete(
    caller: Caller,
    state: Shared,
    Path((app, tag)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let deleted = state.catalog.tag_delete(&app, caller.name(), tag.parse().map_err(Refusal::from)?).await?;
    state.apply(deleted).await;
    Ok(StatusCode::NO_CONTENT)
}

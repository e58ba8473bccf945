use axum::http::StatusCode;
use milepost_model::Refusal;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete a group without deleting its versions
#[utoipa::path(delete, path = "/apps/{app}/groups/{group}", tag = "groups", params(("app" = String, Path, description = "Name of the app"), ("group" = String, Path, description = "Name of the group")), responses((status = 204, description = "Done")))]
pub(crate) async fn groups_delete(
    caller: Caller,
    state: Shared,
    Path((app, group)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let deleted = state.catalog.group_delete(&app, caller.name(), group.parse().map_err(Refusal::from)?).await?;
    state.apply(deleted).await;
    Ok(StatusCode::NO_CONTENT)
}

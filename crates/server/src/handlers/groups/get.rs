use axum::Json;
use milepost_model::Refusal;
use milepost_model::snapshot::Group;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Show a group
#[utoipa::path(get, path = "/apps/{app}/groups/{group}", tag = "groups", params(("app" = String, Path, description = "Name of the app"), ("group" = String, Path, description = "Name of the group")), responses((status = 200, body = Group)))]
pub(crate) async fn groups_get(
    caller: Caller,
    store: Stored,
    Path((app, group)): Path<(String, String)>,
) -> ApiResult<Json<Group>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.group_get(&app, group.parse().map_err(Refusal::from)?).await?))
}

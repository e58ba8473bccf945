use axum::Json;
use milepost_model::snapshot::Group;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// List groups of versions
#[utoipa::path(get, path = "/apps/{app}/groups", tag = "groups", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = Vec<Group>)))]
pub(crate) async fn groups_list(caller: Caller, store: Stored, Path(app): Path<String>) -> ApiResult<Json<Vec<Group>>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.group_list(&app).await?))
}

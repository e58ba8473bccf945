use axum::Json;
use milepost_model::build::Build;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get a finished build
#[utoipa::path(get, path = "/apps/{app}/builds/{build}", tag = "builds", params(("app" = String, Path, description = "Name of the app"), ("build" = String, Path, description = "Id of the build")), responses((status = 200, body = Build)))]
pub(crate) async fn builds_get(
    caller: Caller,
    store: Stored,
    Path((app, build)): Path<(String, String)>,
) -> ApiResult<Json<Build>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.build_get(&app, build).await?))
}

use axum::http::StatusCode;
use milepost_model::Permission;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::Path;
use crate::handlers::Shared;

/// Delete an app with everything in it
#[utoipa::path(delete, path = "/apps/{app}", tag = "apps", params(("app" = String, Path, description = "Name of the app")), responses((status = 204, description = "Done")))]
pub(crate) async fn apps_delete(caller: Caller, state: Shared, Path(app): Path<String>) -> ApiResult<StatusCode> {
    let app = caller.may(Permission::Administer, &app)?;
    state.catalog.app_delete(&app, caller.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

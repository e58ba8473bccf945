use axum::Json;
use milepost_model::Permission;
use milepost_model::install::{Install, InstallChange};

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Json as Body, Path};
use crate::handlers::Shared;

/// Change the policy, the windows and other settings of an installed app
#[utoipa::path(patch, path = "/apps/{app}/install", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = InstallChange, responses((status = 200, body = Install)))]
pub(crate) async fn installs_change(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Body(change): Body<InstallChange>,
) -> ApiResult<Json<Install>> {
    let app = caller.may(Permission::ChangeCode, &app)?;
    let install = state.catalog.install_change(&app, caller.name(), change).await?;
    state.installs.wake();
    Ok(Json(install))
}

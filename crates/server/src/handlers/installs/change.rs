use axum::Json;
use milepost_model::Permission;
use milepost_model::install::{Install, InstallChange};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Json as Body, Path};
use crate::handlers::Shared;
use crate::installs::check_key;

/// An installed app after a change of its settings
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedInstall {
    #[serde(flatten)]
    install: Install,
    /// What to know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Change the policy, the windows and other settings of an installed app
#[utoipa::path(patch, path = "/apps/{app}/install", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = InstallChange, responses((status = 200, body = ChangedInstall)))]
pub(crate) async fn installs_change(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Body(change): Body<InstallChange>,
) -> ApiResult<Json<ChangedInstall>> {
    let app = caller.may(Permission::ChangeCode, &app)?;
    if let Some(key) = change.key.as_deref().filter(|key| !key.is_empty()) {
        check_key(key)?;
    }
    let (install, warnings) = state.catalog.install_change(&app, caller.name(), change).await?;
    state.installs.wake();
    Ok(Json(ChangedInstall { install, warnings }))
}

use axum::Json;
use milepost_model::install::{ChangedInstall, InstallChange, InstallMode};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::installs::{check_key, follows_nothing};
use crate::phrase;
use crate::state::Shared;

/// Change the policy, windows and other settings of an installed app
#[utoipa::path(patch, path = "/apps/{app}/install", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body = InstallChange, responses((status = 200, body = ChangedInstall)))]
pub(crate) async fn installs_change(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<InstallChange>,
) -> ApiResult<Json<ChangedInstall>> {
    let app = caller.on(&app)?;
    let change = sent.read().await?;
    if let Some(key) = change.key.as_deref().filter(|key| !key.is_empty()) {
        check_key(key)?;
    }
    let present = state.catalog.install_get(&app).await?;
    if present.mode == InstallMode::Pinned && change.follows_differently(&present.settings) {
        return Err(follows_nothing().into());
    }
    let (install, notices) = state.apply(state.catalog.install_change(&app, caller.name(), change).await?).await;
    Ok(Json(ChangedInstall { install, warnings: phrase::warnings(&notices), notices }))
}

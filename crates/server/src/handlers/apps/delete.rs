use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::extract::{Path, Query};
use crate::error::ApiResult;
use crate::state::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Only {
    /// Refuse the request if the app has a version.
    #[serde(default)]
    unused: bool,
}

/// Delete an app and everything in it
#[utoipa::path(delete, path = "/apps/{app}", tag = "apps", params(("app" = String, Path, description = "Name of the app"), Only), responses((status = 204, description = "Done")))]
pub(crate) async fn apps_delete(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Query(only): Query<Only>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let deleted = if only.unused {
        state.catalog.app_delete_unused(&app, caller.name()).await?
    } else {
        state.catalog.app_delete(&app, caller.name()).await?
    };
    state.apply(deleted).await;
    Ok(StatusCode::NO_CONTENT)
}

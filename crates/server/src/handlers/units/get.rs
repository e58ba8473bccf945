use axum::Json;
use milepost_model::snapshot::Unit;

use crate::auth::Caller;
use crate::edge::extract::{Path, unit_key};
use crate::error::ApiResult;
use crate::state::Stored;

/// Show the current version of a unit
#[utoipa::path(get, path = "/apps/{app}/units/{kind}/{name}", tag = "units", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit")), responses((status = 200, body = Unit)))]
pub(crate) async fn units_get(
    caller: Caller,
    store: Stored,
    Path((app, kind, name)): Path<(String, String, String)>,
) -> ApiResult<Json<Unit>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.unit_get(&app, unit_key(&kind, &name)?).await?))
}

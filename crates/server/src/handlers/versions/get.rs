use axum::Json;
use milepost_model::Refusal;
use milepost_model::snapshot::Version;

use crate::auth::Caller;
use crate::edge::extract::{Path, unit_key};
use crate::error::ApiResult;
use crate::state::Stored;

/// Show a version
#[utoipa::path(get, path = "/apps/{app}/units/{kind}/{name}/versions/{selector}", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), ("selector" = String, Path, description = "`latest`, a number, a uid, a label, `@alias` or `sha256:…`")), responses((status = 200, body = Version)))]
pub(crate) async fn versions_get(
    caller: Caller,
    store: Stored,
    Path((app, kind, name, selector)): Path<(String, String, String, String)>,
) -> ApiResult<Json<Version>> {
    let app = caller.on(&app)?;
    let selector = selector.parse().map_err(Refusal::from)?;
    Ok(Json(store.catalog.version_get(&app, unit_key(&kind, &name)?, selector).await?))
}

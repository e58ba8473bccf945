use axum::Json;
use milepost_client::api::Describe;
use milepost_model::Refusal;
use milepost_model::snapshot::Version;

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path, unit_key};
use crate::error::ApiResult;
use crate::state::Shared;

/// Edit the description of a version, its only mutable field
#[utoipa::path(patch, path = "/apps/{app}/units/{kind}/{name}/versions/{selector}", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), ("selector" = String, Path, description = "`latest`, a number, a uid, a label, `@alias` or `sha256:…`")), request_body = Describe, responses((status = 200, body = Version)))]
pub(crate) async fn versions_describe(
    caller: Caller,
    state: Shared,
    Path((app, kind, name, selector)): Path<(String, String, String, String)>,
    sent: Body<Describe>,
) -> ApiResult<Json<Version>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let selector = selector.parse().map_err(Refusal::from)?;
    let key = unit_key(&kind, &name)?;
    let described = state.catalog.version_describe(&app, caller.name(), key, selector, body.description).await?;
    Ok(Json(state.apply(described).await))
}

use axum::Json;
use milepost_client::api::Page;
use milepost_model::snapshot::Version;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query, unit_key};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "versions_list";

/// List the versions of a unit, newest first
#[utoipa::path(get, path = "/apps/{app}/units/{kind}/{name}/versions", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), Paging), responses((status = 200, body = Page<Version>)))]
pub(crate) async fn versions_list(
    caller: Caller,
    store: Stored,
    Path((app, kind, name)): Path<(String, String, String)>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Version>>> {
    let app = caller.on(&app)?;
    let found = store.catalog.version_list(&app, unit_key(&kind, &name)?, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

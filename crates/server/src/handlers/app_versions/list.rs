use axum::Json;
use milepost_client::api::Page;
use milepost_model::snapshot::AppVersion;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

const LIST: &str = "app_versions_list";

/// List app versions, newest first
#[utoipa::path(get, path = "/apps/{app}/versions", tag = "app versions", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<AppVersion>)))]
pub(crate) async fn app_versions_list(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<AppVersion>>> {
    let app = caller.on(&app)?;
    let mut found = state.catalog.app_version_list(&app, paging.page(LIST, &state.store)?).await?;
    found.items = found.items.with_urls(&state.urls, &app);
    Ok(Json(wire::page(LIST, &state.store, found)))
}

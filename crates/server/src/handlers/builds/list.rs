use axum::Json;
use milepost_client::api::Page;
use milepost_model::build::Build;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "builds_list";

/// List finished builds, newest first
#[utoipa::path(get, path = "/apps/{app}/builds", tag = "builds", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<Build>)))]
pub(crate) async fn builds_list(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Build>>> {
    let app = caller.on(&app)?;
    let found = store.catalog.build_list(&app, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

use axum::Json;
use milepost_client::api::Page;
use milepost_model::Refusal;
use milepost_model::pointer::PointerMove;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "aliases_history";

/// List the moves of an alias, newest first
#[utoipa::path(get, path = "/apps/{app}/functions/{function}/aliases/{alias}/history", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function"), ("alias" = String, Path, description = "Name of the alias"), Paging), responses((status = 200, body = Page<PointerMove>)))]
pub(crate) async fn aliases_history(
    caller: Caller,
    store: Stored,
    Path((app, function, alias)): Path<(String, String, String)>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<PointerMove>>> {
    let app = caller.on(&app)?;
    let alias = alias.parse().map_err(Refusal::from)?;
    let found =
        store.catalog.alias_history(&app, wire::function(&function)?, alias, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

use axum::Json;
use milepost_client::api::Page;
use milepost_model::pointer::PointerMove;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "live_history";

/// List the moves of live, newest first
#[utoipa::path(get, path = "/apps/{app}/live/history", tag = "live", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<PointerMove>)))]
pub(crate) async fn live_history(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<PointerMove>>> {
    let app = caller.on(&app)?;
    let found = store.catalog.live_history(&app, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

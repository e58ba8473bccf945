use axum::Json;
use milepost_client::api::Page;
use milepost_model::Refusal;
use milepost_model::pointer::PointerMove;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "tags_history";

/// List the moves of a tag, newest first
#[utoipa::path(get, path = "/apps/{app}/tags/{tag}/history", tag = "tags", params(("app" = String, Path, description = "Name of the app"), ("tag" = String, Path, description = "Name of the tag"), Paging), responses((status = 200, body = Page<PointerMove>)))]
pub(crate) async fn tags_history(
    caller: Caller,
    store: Stored,
    Path((app, tag)): Path<(String, String)>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<PointerMove>>> {
    let app = caller.on(&app)?;
    let found =
        store.catalog.tag_history(&app, tag.parse().map_err(Refusal::from)?, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

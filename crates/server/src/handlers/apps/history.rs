use axum::Json;
use milepost_client::api::Page;
use milepost_model::event::Event;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "apps_history";

/// List the events of an app, newest first
#[utoipa::path(get, path = "/apps/{app}/events", tag = "history", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<Event>)))]
pub(crate) async fn apps_history(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Event>>> {
    let app = caller.on(&app)?;
    let found = store.catalog.event_list(&app, paging.page(LIST, &store)?).await?;
    Ok(Json(wire::page(LIST, &store, found)))
}

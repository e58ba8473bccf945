use axum::Json;
use milepost_client::api::{App, Page};

use crate::auth::Caller;
use crate::edge::cursor;
use crate::edge::extract::{Paging, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

const LIST: &str = "apps_list";

/// List apps
#[utoipa::path(get, path = "/apps", tag = "apps", params(Paging), responses((status = 200, body = Page<App>)))]
pub(crate) async fn apps_list(
    caller: Caller,
    state: Shared,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<App>>> {
    if let Some(only) = &caller.row().app {
        let app = caller.on(only)?;
        return Ok(Json(Page { items: vec![wire::app(state.catalog.app_get(&app).await?, &state.urls)], next: None }));
    }
    caller.everywhere()?;
    let after = paging.text(LIST, &state.store)?;
    let found = state.catalog.app_list(after, paging.limit()?).await?;
    let next = found.next.map(|at| cursor::write(LIST, &at, state.catalog.now()));
    Ok(Json(Page { items: found.items.into_iter().map(|app| wire::app(app, &state.urls)).collect(), next }))
}

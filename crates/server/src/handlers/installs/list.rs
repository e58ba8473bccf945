use axum::Json;
use milepost_client::api::Page;
use milepost_model::install::Install;

use crate::auth::Caller;
use crate::edge::cursor;
use crate::edge::extract::{Paging, Query};
use crate::error::ApiResult;
use crate::state::Stored;

/// List installed apps by name
#[utoipa::path(get, path = "/installs", tag = "installs", params(Paging), responses((status = 200, body = Page<Install>)))]
pub(crate) async fn installs_list(
    caller: Caller,
    store: Stored,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Install>>> {
    caller.everywhere()?;
    let after = paging.text("installs", &store)?;
    let page = store.catalog.install_list(after, paging.limit()?).await?;
    let next = page.next.map(|name| cursor::write("installs", &name, store.catalog.now()));
    Ok(Json(Page { items: page.items, next }))
}

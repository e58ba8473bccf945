use axum::Json;
use milepost_client::api::Page;
use milepost_model::release::Release;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

const LIST: &str = "releases_list";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Leave out expired releases.
    #[serde(default)]
    active: bool,
}

/// List releases, newest first
#[utoipa::path(get, path = "/apps/{app}/releases", tag = "releases", params(("app" = String, Path, description = "Name of the app"), Paging, Filter), responses((status = 200, body = Page<Release>)))]
pub(crate) async fn releases_list(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Query(filter): Query<Filter>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Release>>> {
    let app = caller.on(&app)?;
    let mut found = state.catalog.release_list(&app, filter.active, paging.page(LIST, &state.store)?).await?;
    found.items = found.items.with_urls(&state.urls, &app);
    Ok(Json(wire::page(LIST, &state.store, found)))
}

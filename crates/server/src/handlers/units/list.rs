use axum::Json;
use milepost_client::api::Page;
use milepost_model::UnitKind;
use milepost_model::snapshot::Unit;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::cursor;
use crate::edge::extract::{Paging, Path, Query};
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "units_list";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Only units of this kind.
    kind: Option<UnitKind>,
}

/// List the units of an app
#[utoipa::path(get, path = "/apps/{app}/units", tag = "units", params(("app" = String, Path, description = "Name of the app"), Paging, Filter), responses((status = 200, body = Page<Unit>)))]
pub(crate) async fn units_list(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(filter): Query<Filter>,
    Query(paging): Query<Paging>,
) -> ApiResult<Json<Page<Unit>>> {
    let app = caller.on(&app)?;
    let after = match paging.text(LIST, &store)? {
        Some(text) => Some(serde_json::from_str(&text).map_err(|_| cursor::unknown())?),
        None => None,
    };
    let found = store.catalog.unit_list(&app, filter.kind, None, after, paging.limit()?).await?;
    let next = found
        .next
        .and_then(|key| serde_json::to_string(&key).ok())
        .map(|at| cursor::write(LIST, &at, store.catalog.now()));
    Ok(Json(Page { items: found.items, next }))
}

use axum::Json;
use axum::http::HeaderMap;
use milepost_client::api::Page;
use milepost_model::webhook::Webhook;

use super::with_url;
use crate::auth::Caller;
use crate::edge::extract::{Paging, Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

const LIST: &str = "webhooks_list";

/// List webhooks
#[utoipa::path(get, path = "/apps/{app}/webhooks", tag = "webhooks", params(("app" = String, Path, description = "Name of the app"), Paging), responses((status = 200, body = Page<Webhook>)))]
pub(crate) async fn webhooks_list(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(paging): Query<Paging>,
    headers: HeaderMap,
) -> ApiResult<Json<Page<Webhook>>> {
    let app = caller.on(&app)?;
    let mut found = store.catalog.webhook_list(&app, paging.text(LIST, &store)?, paging.limit()?).await?;
    found.items = found.items.into_iter().map(|webhook| with_url(webhook, &headers)).collect();
    Ok(Json(wire::page(LIST, &store, found)))
}

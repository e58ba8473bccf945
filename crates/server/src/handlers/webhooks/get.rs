use axum::Json;
use axum::http::HeaderMap;
use milepost_model::webhook::Webhook;

use super::with_url;
use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Stored;

/// Get a webhook, without its secret
#[utoipa::path(get, path = "/apps/{app}/webhooks/{webhook}", tag = "webhooks", params(("app" = String, Path, description = "Name of the app"), ("webhook" = String, Path, description = "Id of the webhook")), responses((status = 200, body = Webhook)))]
pub(crate) async fn webhooks_get(
    caller: Caller,
    store: Stored,
    Path((app, webhook)): Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<Json<Webhook>> {
    let app = caller.on(&app)?;
    Ok(Json(with_url(store.catalog.webhook_get(&app, webhook).await?, &headers)))
}

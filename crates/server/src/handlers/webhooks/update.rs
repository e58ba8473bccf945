use axum::Json;
use axum::http::HeaderMap;
use milepost_catalog::SecretChange;
use milepost_model::webhook::{Webhook, WebhookChange};

use super::{sealed, with_url};
use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::executions::limits::check_text;
use crate::state::Shared;

/// Change a webhook: its target, its description, or its secret, which an empty string removes
#[utoipa::path(patch, path = "/apps/{app}/webhooks/{webhook}", tag = "webhooks", params(("app" = String, Path, description = "Name of the app"), ("webhook" = String, Path, description = "Id of the webhook")), request_body = WebhookChange, responses((status = 200, body = Webhook)))]
pub(crate) async fn webhooks_update(
    caller: Caller,
    state: Shared,
    Path((app, webhook)): Path<(String, String)>,
    headers: HeaderMap,
    sent: Body<WebhookChange>,
) -> ApiResult<Json<Webhook>> {
    let app = caller.on(&app)?;
    let mut change = sent.read().await?;
    check_text("description", change.description.as_deref().unwrap_or_default())?;
    let secret = match change.secret.take() {
        None => SecretChange::Keep,
        Some(secret) if secret.is_empty() => SecretChange::Remove,
        Some(secret) => SecretChange::Set(sealed(&state, &secret)?),
    };
    let changed = state.catalog.webhook_update(&app, caller.name(), webhook, change, secret).await?;
    let webhook = state.apply(changed).await;
    Ok(Json(with_url(webhook, &headers)))
}

use axum::Json;
use axum::http::HeaderMap;
use milepost_model::webhook::{NewWebhook, Webhook};

use super::{sealed, with_url};
use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::executions::limits::check_text;
use crate::state::Shared;

/// Create a webhook: a URL that starts an execution
///
/// With a secret, calls must be signed with it. The secret is sealed and not shown again.
#[utoipa::path(post, path = "/apps/{app}/webhooks", tag = "webhooks", params(("app" = String, Path, description = "Name of the app")), request_body = NewWebhook, responses((status = 200, body = Webhook)))]
pub(crate) async fn webhooks_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    headers: HeaderMap,
    sent: Body<NewWebhook>,
) -> ApiResult<Json<Webhook>> {
    let app = caller.on(&app)?;
    let mut new = sent.read().await?;
    check_text("description", &new.description)?;
    let secret = new.secret.take().map(|secret| sealed(&state, &secret)).transpose()?;
    let webhook = state.apply(state.catalog.webhook_create(&app, caller.name(), new, secret).await?).await;
    Ok(Json(with_url(webhook, &headers)))
}

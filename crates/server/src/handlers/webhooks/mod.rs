//! Webhooks. They let strangers start executions, so operators manage them. Knowing an id is enough
//! to call a webhook, so reading them requires the permission to call functions.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod invoke;
pub(crate) mod list;
pub(crate) mod update;

use axum::http::HeaderMap;
use milepost_model::webhook::Webhook;
use milepost_model::{Code, Next, OsIds, Refusal};

use crate::error::ApiResult;
use crate::serving::urls::reached_host;
use crate::state::State;

const SHORTEST: usize = 8;
const LONGEST: usize = 256;

/// Adds the webhook's URL, on the host that the caller used to reach this server.
fn with_url(mut webhook: Webhook, headers: &HeaderMap) -> Webhook {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(host) = reached_host(headers) {
        let scheme =
            if text("x-forwarded-proto").is_some_and(|scheme| scheme.trim() == "https") { "https" } else { "http" };
        webhook.url = format!("{scheme}://{host}/api/v1/webhooks/{}/invoke", webhook.id);
    }
    webhook
}

/// Seals the secret with the server's key. It is never shown again.
fn sealed(state: &State, secret: &str) -> ApiResult<Vec<u8>> {
    if !(SHORTEST..=LONGEST).contains(&secret.len()) {
        let message = format!("the secret of a webhook must have {SHORTEST} to {LONGEST} bytes");
        return Err(Refusal::new(Code::InvalidRequest, message).next(Next::CreateSignedWebhook).into());
    }
    let sealed = state.keyring.seal(secret, &OsIds);
    let sealed =
        sealed.ok_or_else(|| Refusal::new(Code::Internal, "the secret could not be sealed").next(Next::Retry))?;
    Ok(sealed)
}

//! The key of a request that takes effect once, however often it is sent.

use axum::http::HeaderMap;
use milepost_model::{Code, Refusal};

const MAX_KEY: usize = 200;

pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| !key.is_empty() && key.len() <= MAX_KEY);
    match key {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(Refusal::new(
            Code::InvalidRequest,
            format!("the idempotency key must have 1 to {MAX_KEY} ASCII characters"),
        )
        .correct("use a random identifier as the key")),
    }
}

/// The id that the sender of a webhook gave this delivery, and repeats when it sends it again.
pub(crate) fn delivery(headers: &HeaderMap) -> Option<&str> {
    const NAMES: [&str; 5] =
        ["idempotency-key", "webhook-id", "x-github-delivery", "x-gitea-delivery", "x-gitlab-event-uuid"];
    let id = NAMES.iter().find_map(|name| headers.get(*name))?.to_str().ok()?;
    (!id.is_empty() && id.len() <= MAX_KEY).then_some(id)
}

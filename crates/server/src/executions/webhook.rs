//! Webhook calls. Knowing the URL is enough to call one without a secret; calls of one with a
//! secret must be signed. Accepted calls are queued like any other execution.

use axum::extract::Request;
use axum::http::HeaderMap;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use hmac::{Hmac, Mac};
use milepost_catalog::{Accept, CalledWebhook, RequestKey};
use milepost_model::execution::{Cause, Execution, MAX_INPUT, NewExecution};
use milepost_model::refusal::View;
use milepost_model::{Code, Digest, Next, Refusal};
use sha2::Sha256;

use super::webhook_input::input_of;
use super::{Accepted, accept, webhook_headers};
use crate::edge::body;
use crate::edge::extract::declared_length;
use crate::edge::idempotency::delivery;
use crate::error::{ApiError, ApiResult, internal};
use crate::state::State;

/// Our own header, and the one used by GitHub and many others.
const SIGNATURES: [&str; 2] = ["x-milepost-signature-256", "x-hub-signature-256"];
/// Length of a UUID.
const ID_LENGTH: usize = 36;

/// Queues an execution for a webhook call. `description` is stored with the execution.
pub(crate) async fn invoke(state: &State, id: &str, request: Request, description: String) -> ApiResult<Execution> {
    let called = find(state, id).await?;
    // Unsigned calls count before the body is read. For webhooks with a secret, only calls with a
    // valid signature count, so that a stranger who knows the URL cannot use up the rate limit.
    if called.sealed.is_none() {
        count(state, &called)?;
    }
    let (parts, body) = request.into_parts();
    let bytes = read(&parts.headers, body).await?;
    let checked: &[&str] = if called.sealed.is_some() { &SIGNATURES } else { &[] };
    let headers = webhook_headers::kept(&parts.headers, checked);
    if let Some(sealed) = &called.sealed {
        let Some(secret) = state.keyring.open_sealed(sealed) else {
            tracing::error!(webhook = short(id), "the secret of a webhook cannot be read with this server's key");
            let refusal =
                Refusal::new(Code::Internal, "the secret of this webhook cannot be read with the server's key")
                    .next(Next::RotateWebhook);
            return Err(refusal.into());
        };
        check_signature(secret.as_bytes(), &parts.headers, &bytes)?;
        count(state, &called)?;
    }
    // The signature covers only the body: an attacker who captured a signed call could add any
    // query to it.
    let query = if called.sealed.is_none() { parts.uri.query() } else { None };
    let input = input_of(&parts.headers, query, &bytes)?;
    // Checks the structure only, since the size was limited while reading.
    input.as_ref().map_or(Ok(()), crate::executions::limits::check_form)?;
    let CalledWebhook { app, webhook, .. } = called;
    let new = NewExecution { function: webhook.function, version: webhook.selector, input, sync: false, description };
    let node = state.executions.node().to_owned();
    // Includes the body: another request with the id cannot suppress a delivery.
    let key = delivery(&parts.headers).map(|delivery| {
        let content = Digest::of(&bytes);
        RequestKey { key: format!("{id} {delivery} {content}"), fingerprint: content, again_after_failure: true }
    });
    let asked = Accept { new, headers, cause: Cause::webhook(id), started_by: webhook.created_by, node, key };
    match accept(state, app, asked).await.map_err(|error| internal(&error))?? {
        Accepted::Queued(execution) => Ok(*execution),
        Accepted::Ran(..) => Err(not_found()),
    }
}

async fn find(state: &State, id: &str) -> ApiResult<CalledWebhook> {
    let is_id = id.len() == ID_LENGTH && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if !is_id {
        return Err(not_found());
    }
    state.catalog.webhook_find(id.to_owned()).await?.ok_or_else(not_found)
}

fn not_found() -> ApiError {
    Refusal::new(Code::WebhookNotFound, "this webhook does not exist")
        .correct("check the address")
        .see(View::Webhooks)
        .into()
}

fn count(state: &State, called: &CalledWebhook) -> ApiResult<()> {
    if state.executions.calls.take(&called.webhook.id, std::time::Instant::now()) {
        return Ok(());
    }
    let message = format!("the webhook is called more than {} times a second", super::calls::PER_SECOND);
    Err(Refusal::new(Code::RateLimited, message).correct("send the request again in a second").into())
}

async fn read(headers: &HeaderMap, body: axum::body::Body) -> ApiResult<Bytes> {
    let too_large = || {
        let message =
            format!("the body is larger than {} MiB, the limit of the input of an execution", MAX_INPUT >> 20);
        Refusal::new(Code::RequestTooLarge, message).correct("store the input elsewhere, and send its address")
    };
    let mut chunks = body.into_data_stream();
    if declared_length(headers).is_some_and(|length| length > MAX_INPUT as u64) {
        body::hear_out(&mut chunks).await;
        return Err(too_large().into());
    }
    let mut bytes = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| {
            Refusal::new(Code::InvalidRequest, "the body of the request ended too early").next(Next::Retry)
        })?;
        if bytes.len() + chunk.len() > MAX_INPUT {
            body::hear_out(&mut chunks).await;
            return Err(too_large().into());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

/// Compares the signature in constant time.
fn check_signature(secret: &[u8], headers: &HeaderMap, body: &[u8]) -> Result<(), Refusal> {
    let hint = "send `x-milepost-signature-256: sha256=HEX`, the HMAC-SHA256 of the body under the webhook's secret";
    let refused = |message: &str| Refusal::new(Code::Unauthenticated, message).correct(hint);
    let Some(given) = SIGNATURES.iter().find_map(|name| headers.get(*name)) else {
        return Err(refused("this webhook accepts signed calls only, and the call has no signature"));
    };
    let wrong = || refused("the signature does not match the body and the webhook's secret");
    let given = given.to_str().map_err(|_| wrong())?.trim();
    let given = given.strip_prefix("sha256=").unwrap_or(given).to_ascii_lowercase();
    let given = data_encoding::HEXLOWER.decode(given.as_bytes()).map_err(|_| wrong())?;
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(secret).map_err(|_| wrong())?;
    mac.update(body);
    mac.verify_slice(&given).map_err(|_| wrong())
}

/// Shortens an id for logs: the whole id is a URL that anyone may call.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a header"));
        headers
    }

    /// RFC 4231, test case 2.
    const KEY: &[u8] = b"Jefe";
    const BODY: &[u8] = b"what do ya want for nothing?";
    const RIGHT: &str = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";

    #[test]
    fn accepts_valid_signatures_in_either_header() {
        for name in SIGNATURES {
            assert!(check_signature(KEY, &with(name, RIGHT), BODY).is_ok());
            assert!(check_signature(KEY, &with(name, &format!("sha256={RIGHT}")), BODY).is_ok());
            assert!(check_signature(KEY, &with(name, &RIGHT.to_uppercase()), BODY).is_ok());
        }
    }

    #[test]
    fn rejects_missing_and_invalid_signatures() {
        let name = SIGNATURES[0];
        assert!(check_signature(KEY, &HeaderMap::new(), BODY).is_err());
        for wrong in ["", "sha256=", &RIGHT[2..], "zz", &RIGHT.replace('5', "6")] {
            let refused = check_signature(KEY, &with(name, wrong), BODY).expect_err("it is wrong");
            assert_eq!(refused.code, Code::Unauthenticated, "{wrong}");
        }
        assert!(check_signature(KEY, &with(name, RIGHT), b"another body").is_err());
        assert!(check_signature(b"jefe", &with(name, RIGHT), BODY).is_err());
    }
}

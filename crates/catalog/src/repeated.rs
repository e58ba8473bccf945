//! Requests that are sent again because their response was lost.

use milepost_model::execution::ExecutionStatus;
use milepost_model::{Code, Digest, Refusal};

use crate::db::Tx;
use crate::error::{CatalogError, Result};
use crate::tables::executions;
use crate::tables::idempotency;

/// Identifies a request, so that it takes effect once.
#[derive(Debug, Clone)]
pub struct RequestKey {
    /// Chosen by the caller, once for each kind of request.
    pub key: String,
    /// The content of the request. A key that comes with another content is refused.
    pub fingerprint: Digest,
    /// Whether an execution that ended without success is run again. For deliveries, which users
    /// repeat on purpose under the same id.
    pub again_after_failure: bool,
}

/// Reserves the key for an execution. Returns the execution that an earlier request with this key
/// made.
pub(crate) async fn execution(tx: &mut Tx, app_id: i64, key: &RequestKey, id: &str) -> Result<Option<String>> {
    let (name, now) = (format!("execution {}", key.key), tx.now());
    for _ in 0..2 {
        if idempotency::try_insert(tx, app_id, &name, &key.fingerprint, id, now).await? {
            return Ok(None);
        }
        let Some((fingerprint, earlier)) = idempotency::find(tx, app_id, &name).await? else { continue };
        if fingerprint != key.fingerprint {
            return Err(mismatch(&key.key).into());
        }
        let status = executions::lock(tx, app_id, &earlier).await?;
        let failed = status.is_some_and(|status| status.is_ended() && status != ExecutionStatus::Success);
        // An execution that was deleted has left nothing to return.
        if status.is_some() && !(failed && key.again_after_failure) {
            return Ok(Some(earlier));
        }
        idempotency::forget(tx, app_id, &name).await?;
    }
    Err(CatalogError::inconsistent(format!("the idempotency key `{name}` is neither taken nor free")))
}

pub(crate) fn mismatch(key: &str) -> Refusal {
    let message = format!("the idempotency key `{key}` was used for another request");
    Refusal::new(Code::IdempotencyMismatch, message).correct("use a fresh key for each request")
}

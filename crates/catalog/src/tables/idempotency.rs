use milepost_model::{Digest, Timestamp};

use crate::db::Tx;
use crate::error::Result;

/// Returns the recorded outcome of a request with this key, and the fingerprint of that request.
pub(crate) async fn find(tx: &mut Tx, app_id: i64, key: &str) -> Result<Option<(Digest, String)>> {
    let sql = "SELECT fingerprint, outcome FROM idempotency WHERE app_id = $1 AND idempotency_key = $2";
    tx.query_opt(sql, &[app_id.into(), key.into()]).await?.map(|row| Ok((row.digest(0)?, row.text(1)?))).transpose()
}

pub(crate) async fn insert(
    tx: &mut Tx,
    app_id: i64,
    key: &str,
    fingerprint: &Digest,
    outcome: &str,
    at: Timestamp,
) -> Result<()> {
    let sql = "INSERT INTO idempotency (app_id, idempotency_key, fingerprint, outcome, created_at) VALUES ($1, $2, $3, $4, $5)";
    tx.exactly_one(sql, &[app_id.into(), key.into(), fingerprint.into(), outcome.into(), at.into()]).await
}

/// Like [`insert`], but returns false if the key is taken, also by a transaction that commits
/// meanwhile.
pub(crate) async fn try_insert(
    tx: &mut Tx,
    app_id: i64,
    key: &str,
    fingerprint: &Digest,
    outcome: &str,
    at: Timestamp,
) -> Result<bool> {
    let sql = "INSERT INTO idempotency (app_id, idempotency_key, fingerprint, outcome, created_at) \
               VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    let params = [app_id.into(), key.into(), fingerprint.into(), outcome.into(), at.into()];
    Ok(tx.execute(sql, &params).await? == 1)
}

pub(crate) async fn forget(tx: &mut Tx, app_id: i64, key: &str) -> Result<()> {
    let sql = "DELETE FROM idempotency WHERE app_id = $1 AND idempotency_key = $2";
    tx.execute(sql, &[app_id.into(), key.into()]).await.map(drop)
}

pub(crate) async fn forget_before(tx: &mut Tx, cutoff: Timestamp) -> Result<u64> {
    tx.execute("DELETE FROM idempotency WHERE created_at < $1", &[cutoff.into()]).await
}

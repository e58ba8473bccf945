//! The columns of a release that its check uses, and the leases of checks. Leases use the
//! database's own clock.

use milepost_model::Timestamp;
use milepost_model::check::{CheckState, FunctionCheck};
use serde::{Deserialize, Serialize};

use crate::db::Tx;
use crate::error::{CatalogError, Result};

/// A lease token and the length of the lease.
#[derive(Debug, Clone)]
pub(crate) struct Holder<'a> {
    pub token: &'a str,
    pub lease_ms: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct CheckRow {
    pub checked_at: Option<Timestamp>,
    pub report: Report,
    pub why: String,
    pub lease: Option<String>,
    /// The release whose pin this one takes over.
    pub pins_live: Option<i64>,
}

/// The results and effects of a check.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Report {
    pub functions: Vec<FunctionCheck>,
    /// Releases that expired to make room when it passed.
    pub expired: Vec<String>,
    /// The release was to take over the pin of live, but live was moved elsewhere before it passed.
    pub lost_pin: bool,
}

/// A release whose check this holder has taken.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub id: i64,
    pub app_id: i64,
    pub name: String,
}

pub(crate) async fn get(tx: &mut Tx, release_id: i64) -> Result<CheckRow> {
    let sql = "SELECT checked_at, check_report, check_why, check_lease, pins_live FROM releases WHERE id = $1";
    let row = tx.query_one(sql, &[release_id.into()]).await?;
    let report = match row.opt_text(1)? {
        Some(text) => serde_json::from_str(&text).map_err(|error| CatalogError::inconsistent(error.to_string()))?,
        None => Report::default(),
    };
    Ok(CheckRow {
        checked_at: row.opt_time(0)?,
        report,
        why: row.opt_text(2)?.unwrap_or_default(),
        lease: row.opt_text(3)?,
        pins_live: row.opt_int(4)?,
    })
}

/// Begins a check, under a lease if the caller checks the release itself.
pub(crate) async fn begin(
    tx: &mut Tx,
    release_id: i64,
    holder: Option<Holder<'_>>,
    why: &str,
    pins_live: Option<i64>,
) -> Result<()> {
    let sql = format!(
        "UPDATE releases SET check_why = $2, pins_live = $3, check_lease = $4, check_until = {} + $5 WHERE id = $1",
        tx.database_now()
    );
    let (token, lease_ms) = holder.map_or((None, 0), |holder| (Some(holder.token.to_owned()), holder.lease_ms));
    let params = [release_id.into(), why.into(), pins_live.into(), token.into(), lease_ms.into()];
    tx.exactly_one(&sql, &params).await
}

pub(crate) async fn end(tx: &mut Tx, release_id: i64, state: CheckState, at: Timestamp, report: &Report) -> Result<()> {
    let text = serde_json::to_string(report).map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    let sql = "UPDATE releases SET check_state = $2, checked_at = $3, check_report = $4, check_lease = NULL, \
               check_until = NULL WHERE id = $1";
    tx.exactly_one(sql, &[release_id.into(), state.as_str().into(), at.into(), text.into()]).await
}

/// Takes pending checks without a valid lease, oldest first. `token` differs with each call.
pub(crate) async fn take_due(tx: &mut Tx, holder: Holder<'_>, limit: i64) -> Result<Vec<Taken>> {
    let now = tx.database_now();
    let sql = format!(
        "UPDATE releases SET check_lease = $1, check_until = {now} + $2 WHERE id IN (SELECT r.id FROM releases r \
         WHERE r.check_state = 'pending' AND r.state = 'active' AND (r.check_until IS NULL OR r.check_until <= {now}) \
         AND EXISTS (SELECT 1 FROM apps a WHERE a.id = r.app_id AND a.deleted_at IS NULL) ORDER BY r.id LIMIT $3{}) \
         RETURNING id, app_id, name",
        tx.for_claim()
    );
    let rows = tx.query(&sql, &[holder.token.into(), holder.lease_ms.into(), limit.into()]).await?;
    rows.iter().map(|row| Ok(Taken { id: row.int(0)?, app_id: row.int(1)?, name: row.text(2)? })).collect()
}

/// Reports whether [`take_due`] would find anything.
pub(crate) async fn is_any_due(tx: &mut Tx) -> Result<bool> {
    let sql = format!(
        "SELECT count(*) FROM releases WHERE check_state = 'pending' AND state = 'active' \
         AND (check_until IS NULL OR check_until <= {})",
        tx.database_now()
    );
    Ok(tx.count(&sql, &[]).await? > 0)
}

/// Takes the check of one release, unless another node has its lease.
pub(crate) async fn take(tx: &mut Tx, release_id: i64, holder: Holder<'_>) -> Result<bool> {
    let now = tx.database_now();
    let sql = format!(
        "UPDATE releases SET check_lease = $2, check_until = {now} + $3 WHERE id = $1 AND check_state = 'pending' \
         AND (check_until IS NULL OR check_until <= {now})"
    );
    Ok(tx.execute(&sql, &[release_id.into(), holder.token.into(), holder.lease_ms.into()]).await? > 0)
}

/// Returns false if another node has the lease, or the check has ended.
pub(crate) async fn renew(tx: &mut Tx, release_id: i64, holder: Holder<'_>) -> Result<bool> {
    let sql = format!(
        "UPDATE releases SET check_until = {} + $3 WHERE id = $1 AND check_state = 'pending' AND check_lease = $2",
        tx.database_now()
    );
    Ok(tx.execute(&sql, &[release_id.into(), holder.token.into(), holder.lease_ms.into()]).await? > 0)
}

pub(crate) async fn let_go(tx: &mut Tx, release_id: i64, token: &str) -> Result<()> {
    let sql = "UPDATE releases SET check_lease = NULL, check_until = NULL WHERE id = $1 AND check_lease = $2";
    tx.execute(sql, &[release_id.into(), token.into()]).await?;
    Ok(())
}

pub(crate) async fn end_leases(tx: &mut Tx) -> Result<()> {
    let sql = "UPDATE releases SET check_lease = NULL, check_until = NULL WHERE check_state = 'pending'";
    tx.execute(sql, &[]).await?;
    Ok(())
}

/// Returns the pending release that takes over live's pin from `live` when its check passes.
pub(crate) async fn taking_pin(tx: &mut Tx, app_id: i64, live: i64) -> Result<Option<String>> {
    let sql = "SELECT name FROM releases WHERE app_id = $1 AND pins_live = $2 AND check_state = 'pending' \
               AND state = 'active' ORDER BY id LIMIT 1";
    tx.query_opt(sql, &[app_id.into(), live.into()]).await?.map(|row| row.text(0)).transpose()
}

/// Returns the function versions of app version `seq` that app version `before` does not have; all
/// of them without `before`.
pub(crate) async fn new_functions(tx: &mut Tx, app_id: i64, seq: i64, before: Option<i64>) -> Result<Vec<i64>> {
    let sql = "SELECT m.version_id FROM units u JOIN memberships m ON m.unit_id = u.id \
               AND m.from_seq = (SELECT max(from_seq) FROM memberships WHERE unit_id = u.id AND from_seq <= $2) \
               WHERE u.app_id = $1 AND u.kind = 'function' AND (m.until_seq IS NULL OR m.until_seq > $2) \
               AND NOT EXISTS (SELECT 1 FROM memberships b WHERE b.unit_id = u.id AND b.version_id = m.version_id \
               AND b.from_seq <= $3 AND (b.until_seq IS NULL OR b.until_seq > $3)) ORDER BY u.name";
    let rows = tx.query(sql, &[app_id.into(), seq.into(), before.unwrap_or(0).into()]).await?;
    rows.iter().map(|row| row.int(0)).collect()
}

pub(crate) async fn database_time(tx: &mut Tx) -> Result<Timestamp> {
    let sql = format!("SELECT {}", tx.database_now());
    tx.query_one(&sql, &[]).await?.time(0)
}

use milepost_model::release::LiveMode;
use milepost_model::rollout::Rollout;
use milepost_model::{AppName, Timestamp};

use crate::db::{Row, Tx, Val};
use crate::error::{CatalogError, Result};
use crate::words::Word as _;

#[derive(Debug, Clone)]
pub(crate) struct RolloutRow {
    pub id: i64,
    pub name: String,
    pub base_id: i64,
    pub candidate_id: i64,
    /// The mode of live before it began.
    pub live_mode: LiveMode,
    pub rollout: Rollout,
    pub created_at: Timestamp,
    pub created_by: String,
    pub ended_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, name, base_id, candidate_id, live_mode, body, created_at, created_by, ended_at";

fn read(row: &Row) -> Result<RolloutRow> {
    let name = row.text(1)?;
    let rollout = serde_json::from_str(&row.text(5)?)
        .map_err(|error| CatalogError::inconsistent(format!("rollout {name}: {error}")))?;
    Ok(RolloutRow {
        id: row.int(0)?,
        base_id: row.int(2)?,
        candidate_id: row.int(3)?,
        live_mode: row.word(4, "rollouts.live_mode")?,
        rollout,
        created_at: row.time(6)?,
        created_by: row.text(7)?,
        ended_at: row.opt_time(8)?,
        name,
    })
}

async fn select(tx: &mut Tx, rest: &str, params: &[Val]) -> Result<Vec<RolloutRow>> {
    tx.query(&format!("SELECT {COLUMNS} FROM rollouts WHERE {rest}"), params).await?.iter().map(read).collect()
}

/// The open rollout of an app.
pub(crate) async fn open(tx: &mut Tx, app_id: i64) -> Result<Option<RolloutRow>> {
    Ok(select(tx, "app_id = $1 AND open = 1", &[app_id.into()]).await?.pop())
}

pub(crate) async fn find(tx: &mut Tx, app_id: i64, name: &str) -> Result<Option<RolloutRow>> {
    Ok(select(tx, "app_id = $1 AND name = $2", &[app_id.into(), name.into()]).await?.pop())
}

/// The version of a unit that the base of the open rollout holds. None without a rollout, and for a
/// unit that the base does not have.
pub(crate) async fn base_version(tx: &mut Tx, unit_id: i64) -> Result<Option<i64>> {
    let sql = "SELECT m.version_id FROM units u JOIN rollouts o ON o.app_id = u.app_id AND o.open = 1 \
               JOIN releases r ON r.id = o.base_id JOIN memberships m ON m.unit_id = u.id \
               AND m.from_seq <= r.app_seq AND (m.until_seq IS NULL OR m.until_seq > r.app_seq) WHERE u.id = $1";
    tx.query_opt(sql, &[unit_id.into()]).await?.map(|row| row.int(0)).transpose()
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<RolloutRow>> {
    let params = [app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()];
    select(tx, "app_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3", &params).await
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, row: &RolloutRow) -> Result<RolloutRow> {
    let sql = format!(
        "INSERT INTO rollouts (app_id, name, base_id, candidate_id, live_mode, open, body, created_at, created_by) \
         VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8) RETURNING {COLUMNS}"
    );
    let params = [
        app_id.into(),
        row.name.as_str().into(),
        row.base_id.into(),
        row.candidate_id.into(),
        row.live_mode.word().into(),
        body(&row.rollout)?.into(),
        row.created_at.into(),
        row.created_by.as_str().into(),
    ];
    read(&tx.query_one(&sql, &params).await?)
}

pub(crate) async fn save(tx: &mut Tx, row: &RolloutRow) -> Result<()> {
    let open = i64::from(row.rollout.is_open());
    let params = [row.id.into(), open.into(), body(&row.rollout)?.into(), row.ended_at.into()];
    tx.exactly_one("UPDATE rollouts SET open = $2, body = $3, ended_at = $4 WHERE id = $1", &params).await
}

/// Takes open rollouts that no other holder judges, and keeps those that this one has.
pub(crate) async fn take(tx: &mut Tx, holder: &str, lease_ms: i64, limit: i64) -> Result<Vec<(AppName, String)>> {
    let now = tx.database_now();
    let sql = format!(
        "UPDATE rollouts SET lease = $1, lease_until = {now} + $2 WHERE id IN (SELECT r.id FROM rollouts r \
         WHERE r.open = 1 AND (r.lease = $1 OR r.lease_until IS NULL OR r.lease_until <= {now}) ORDER BY r.id LIMIT $3{}) \
         RETURNING name, (SELECT a.name FROM apps a WHERE a.id = app_id)",
        tx.for_claim()
    );
    let rows = tx.query(&sql, &[holder.into(), lease_ms.into(), limit.into()]).await?;
    rows.iter().map(|row| Ok((row.parse(1)?, row.text(0)?))).collect()
}

/// Whether a holder judges a rollout at present.
pub(crate) async fn is_held(tx: &mut Tx, id: i64, holder: &str) -> Result<bool> {
    let sql = format!(
        "SELECT count(*) FROM rollouts WHERE id = $1 AND open = 1 AND lease = $2 AND lease_until > {}",
        tx.database_now()
    );
    Ok(tx.count(&sql, &[id.into(), holder.into()]).await? > 0)
}

/// For an app that is being deleted.
pub(crate) async fn close_all(tx: &mut Tx, app_id: i64, at: Timestamp) -> Result<()> {
    let sql = "UPDATE rollouts SET open = 0, ended_at = $2 WHERE app_id = $1 AND open = 1";
    tx.execute(sql, &[app_id.into(), at.into()]).await?;
    Ok(())
}

fn body(rollout: &Rollout) -> Result<String> {
    serde_json::to_string(rollout).map_err(|error| CatalogError::inconsistent(error.to_string()))
}

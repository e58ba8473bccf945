use milepost_model::Timestamp;
use milepost_model::check::CheckState;
use milepost_model::release::ReleaseState;

use crate::db::{Row, Tx, Val};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(crate) struct ReleaseRow {
    pub id: i64,
    pub name: String,
    pub app_seq: i64,
    pub state: ReleaseState,
    pub created_at: Timestamp,
    pub created_by: String,
    pub expired_at: Option<Timestamp>,
    pub check: CheckState,
}

const COLUMNS: &str = "id, name, app_seq, state, created_at, created_by, expired_at, check_state";

fn read(row: &Row) -> Result<ReleaseRow> {
    Ok(ReleaseRow {
        id: row.int(0)?,
        name: row.text(1)?,
        app_seq: row.int(2)?,
        state: row.word(3, "releases.state")?,
        created_at: row.time(4)?,
        created_by: row.text(5)?,
        expired_at: row.opt_time(6)?,
        check: row.word(7, "releases.check_state")?,
    })
}

async fn select(tx: &mut Tx, rest: &str, params: &[Val]) -> Result<Vec<ReleaseRow>> {
    tx.query(&format!("SELECT {COLUMNS} FROM releases WHERE {rest}"), params).await?.iter().map(read).collect()
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<ReleaseRow> {
    read(&tx.query_one(&format!("SELECT {COLUMNS} FROM releases WHERE id = $1"), &[id.into()]).await?)
}

pub(crate) async fn find_by_name(tx: &mut Tx, app_id: i64, name: &str) -> Result<Option<ReleaseRow>> {
    Ok(select(tx, "app_id = $1 AND name = $2", &[app_id.into(), name.into()]).await?.pop())
}

/// Returns the newest release of an app version, preferring active ones.
pub(crate) async fn of_app_version(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Option<ReleaseRow>> {
    let rest = "app_id = $1 AND app_seq = $2 ORDER BY CASE WHEN state = 'active' THEN 0 ELSE 1 END, id DESC LIMIT 1";
    Ok(select(tx, rest, &[app_id.into(), seq.into()]).await?.pop())
}

/// Oldest first.
pub(crate) async fn active(tx: &mut Tx, app_id: i64) -> Result<Vec<ReleaseRow>> {
    select(tx, "app_id = $1 AND state = 'active' ORDER BY id", &[app_id.into()]).await
}

/// Returns the release that latest points at: the newest active one that no check holds back.
pub(crate) async fn newest_reachable(tx: &mut Tx, app_id: i64) -> Result<Option<ReleaseRow>> {
    let rest = "app_id = $1 AND state = 'active' AND check_state NOT IN ('pending', 'failed') ORDER BY id DESC LIMIT 1";
    Ok(select(tx, rest, &[app_id.into()]).await?.pop())
}

/// Reports whether any release of the app, expired or not, is held back.
pub(crate) async fn any_held_back(tx: &mut Tx, app_id: i64) -> Result<bool> {
    let sql = "SELECT count(*) FROM releases WHERE app_id = $1 AND check_state IN ('pending', 'failed')";
    Ok(tx.count(sql, &[app_id.into()]).await? > 0)
}

/// Newest first, with ids above `id`.
pub(crate) async fn above(tx: &mut Tx, app_id: i64, id: i64, limit: i64) -> Result<Vec<ReleaseRow>> {
    select(tx, "app_id = $1 AND id > $2 ORDER BY id DESC LIMIT $3", &[app_id.into(), id.into(), limit.into()]).await
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(
    tx: &mut Tx,
    app_id: i64,
    active_only: bool,
    below: Option<i64>,
    limit: i64,
) -> Result<Vec<ReleaseRow>> {
    let rest = if active_only {
        "app_id = $1 AND id < $2 AND state = 'active' ORDER BY id DESC LIMIT $3"
    } else {
        "app_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    };
    select(tx, rest, &[app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()]).await
}

pub(crate) async fn insert(
    tx: &mut Tx,
    app_id: i64,
    name: &str,
    app_seq: i64,
    (at, by): (Timestamp, &str),
    check: CheckState,
) -> Result<ReleaseRow> {
    let sql = format!(
        "INSERT INTO releases (app_id, name, app_seq, state, created_at, created_by, check_state) \
         VALUES ($1, $2, $3, 'active', $4, $5, $6) RETURNING {COLUMNS}"
    );
    let params = [app_id.into(), name.into(), app_seq.into(), at.into(), by.into(), check.as_str().into()];
    read(&tx.query_one(&sql, &params).await?)
}

pub(crate) async fn expire(tx: &mut Tx, id: i64, at: Timestamp) -> Result<()> {
    tx.exactly_one("UPDATE releases SET state = 'expired', expired_at = $2 WHERE id = $1", &[id.into(), at.into()])
        .await
}

/// Returns the number of the newest app version that was ever released; 0 if none was.
pub(crate) async fn newest_released(tx: &mut Tx, app_id: i64) -> Result<i64> {
    let sql = "SELECT coalesce(max(app_seq), 0) FROM releases WHERE app_id = $1";
    tx.query_one(sql, &[app_id.into()]).await?.int(0)
}

/// Returns active releases that need a version: as a member, or because a member is pinned to it.
pub(crate) async fn holding(tx: &mut Tx, app_id: i64, version_id: i64) -> Result<Vec<ReleaseRow>> {
    let rest = "app_id = $1 AND state = 'active' AND EXISTS (SELECT 1 FROM memberships m \
         WHERE m.version_id IN (SELECT CAST($2 AS BIGINT) UNION ALL SELECT version_id FROM version_pins WHERE target_id = $2) \
         AND m.from_seq <= releases.app_seq AND (m.until_seq IS NULL OR m.until_seq > releases.app_seq)) ORDER BY id";
    select(tx, rest, &[app_id.into(), version_id.into()]).await
}

/// Returns, for each version of a unit, the active releases that hold it.
pub(crate) async fn names_by_version(tx: &mut Tx, app_id: i64, unit_id: i64) -> Result<Vec<(i64, String)>> {
    let sql = "SELECT m.version_id, r.name FROM releases r JOIN memberships m ON m.unit_id = $2 \
               AND m.from_seq = (SELECT max(from_seq) FROM memberships WHERE unit_id = $2 AND from_seq <= r.app_seq) \
               WHERE r.app_id = $1 AND r.state = 'active' AND (m.until_seq IS NULL OR m.until_seq > r.app_seq) ORDER BY r.id DESC";
    let rows = tx.query(sql, &[app_id.into(), unit_id.into()]).await?;
    rows.iter().map(|row| Ok((row.int(0)?, row.text(1)?))).collect()
}

/// For an app that is being deleted.
pub(crate) async fn expire_all(tx: &mut Tx, app_id: i64, at: Timestamp) -> Result<()> {
    let sql = "UPDATE releases SET state = 'expired', expired_at = $2 WHERE app_id = $1 AND state = 'active'";
    tx.execute(sql, &[app_id.into(), at.into()]).await?;
    Ok(())
}

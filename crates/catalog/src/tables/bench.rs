//! Statements for `bench/` only.

use milepost_model::Timestamp;

use crate::db::{Engine, Tx};
use crate::error::Result;
use crate::tables::apps::AppRow;
use crate::tables::units::UnitRow;

/// Copies the newest version and app version of a unit until there are `total` of them.
pub(crate) async fn copy_versions(tx: &mut Tx, app: &AppRow, unit: &UnitRow, total: i64) -> Result<()> {
    let series = "WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)";
    // These uids contain digits and vowels, so they cannot collide with real ones, which are
    // consonants only.
    let random = match tx.engine() {
        Engine::Sqlite => "randomblob(32)",
        Engine::Postgres => "decode(md5(i::text) || md5((i + 1)::text), 'hex')",
    };
    let sql = format!(
        "{series} INSERT INTO versions (app_id, unit_id, number, uid, digest, content_id, description, created_at, created_by, state) \
         SELECT v.app_id, v.unit_id, n.i, 'u' || n.i, {random}, v.content_id, '', v.created_at, 'bench', 'active' \
         FROM n, versions v WHERE v.unit_id = $3 AND v.number = 1"
    );
    tx.execute(&sql, &[unit.last_number.into(), total.into(), unit.id.into()]).await?;
    let sql = format!(
        "{series} INSERT INTO app_versions (app_id, seq, uid, created_at, created_by, message) \
         SELECT a.app_id, n.i, 'a' || n.i, a.created_at, 'bench', 'bench' FROM n, app_versions a WHERE a.app_id = $3 AND a.seq = 1"
    );
    tx.execute(&sql, &[app.head_seq.into(), total.into(), app.id.into()]).await?;
    let sql = "UPDATE memberships SET until_seq = from_seq + 1 WHERE unit_id = $1 AND until_seq IS NULL";
    tx.execute(sql, &[unit.id.into()]).await?;
    let sql = "INSERT INTO memberships (unit_id, from_seq, until_seq, version_id) \
               SELECT unit_id, number, CASE WHEN number = $3 THEN NULL ELSE number + 1 END, id FROM versions \
               WHERE unit_id = $1 AND number > $2";
    tx.execute(sql, &[unit.id.into(), unit.last_number.into(), total.into()]).await?;
    Ok(())
}

pub(crate) async fn insert_pack(tx: &mut Tx, name: String, now: Timestamp) -> Result<()> {
    tx.exactly_one("INSERT INTO packs (name, size, created_at) VALUES ($1, 0, $2)", &[name.into(), now.into()]).await
}

pub(crate) async fn database_size(tx: &mut Tx) -> Result<i64> {
    let sql = match tx.engine() {
        Engine::Sqlite => "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        Engine::Postgres => "SELECT pg_database_size(current_database())",
    };
    tx.count(sql, &[]).await
}

/// Adds jobs numbered `from..to`, all due at `next_at`.
pub(crate) async fn insert_jobs(
    tx: &mut Tx,
    app_id: i64,
    unit_id: i64,
    (from, to): (i64, i64),
    next_at: Timestamp,
) -> Result<()> {
    let sql = "WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2) \
               INSERT INTO jobs (id, app_id, unit_id, name, selector, cron, zone, state, next_at, fired, created_at, created_by) \
               SELECT 'bench-' || i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), '', 'latest', '* * * * *', '', 'running', \
               CAST($5 AS BIGINT), 0, CAST($5 AS BIGINT), 'bench' FROM n";
    tx.execute(sql, &[from.into(), to.into(), app_id.into(), unit_id.into(), next_at.into()]).await.map(drop)
}

pub(crate) async fn set_due(tx: &mut Tx, numbers: std::ops::Range<i64>, next_at: Timestamp) -> Result<()> {
    for number in numbers {
        let params = [format!("bench-{number}").into(), next_at.into()];
        tx.execute("UPDATE jobs SET next_at = $2 WHERE id = $1", &params).await?;
    }
    Ok(())
}

pub(crate) async fn count_executions(tx: &mut Tx, ids: &[String]) -> Result<i64> {
    let mut found = 0;
    for id in ids {
        found += tx.count("SELECT count(*) FROM executions WHERE id = $1", &[id.as_str().into()]).await?;
    }
    Ok(found)
}

/// Updates the statistics of the query planner. SQLite needs none here.
pub(crate) async fn analyze(tx: &mut Tx) -> Result<()> {
    match tx.engine() {
        Engine::Sqlite => Ok(()),
        Engine::Postgres => tx.execute("ANALYZE", &[]).await.map(drop),
    }
}

use milepost_model::build::Build;
use milepost_model::{Digest, Timestamp};

use crate::db::{Row, Tx, Val};
use crate::error::Result;
use crate::words::Word as _;

#[derive(Debug, Clone)]
pub(crate) struct BuildRow {
    pub id: i64,
    pub used_at: Timestamp,
    pub build: Build,
}

/// The blobs that a row refers to.
pub(crate) struct Blobs {
    pub deployment: Option<i64>,
    pub log: Option<i64>,
}

const SELECT: &str = "SELECT x.id, x.used_at, x.uid, x.package, x.state, x.source, x.command, d.digest, l.digest, \
                      x.reason, x.started_at, x.duration_ms, x.started_by FROM builds x \
                      LEFT JOIN blobs d ON d.id = x.deployment_blob_id LEFT JOIN blobs l ON l.id = x.log_blob_id";

fn read(row: &Row) -> Result<BuildRow> {
    let build = Build {
        id: row.text(2)?,
        package: row.parse(3)?,
        state: row.word(4, "builds.state")?,
        source: row.digest(5)?,
        command: row.text(6)?,
        deployment: row.opt_digest(7)?,
        log: row.opt_digest(8)?,
        reason: row.text(9)?,
        started_at: row.time(10)?,
        duration_ms: row.int(11)?,
        started_by: row.text(12)?,
    };
    Ok(BuildRow { id: row.int(0)?, used_at: row.time(1)?, build })
}

/// Returns the newest successful build with a key.
pub(crate) async fn find_by_key(tx: &mut Tx, app_id: i64, key: &Digest) -> Result<Option<BuildRow>> {
    let sql =
        format!("{SELECT} WHERE x.app_id = $1 AND x.key = $2 AND x.state = 'succeeded' ORDER BY x.id DESC LIMIT 1");
    tx.query_opt(&sql, &[app_id.into(), key.into()]).await?.as_ref().map(read).transpose()
}

pub(crate) async fn find_by_uid(tx: &mut Tx, app_id: i64, uid: &str) -> Result<Option<BuildRow>> {
    let sql = format!("{SELECT} WHERE x.app_id = $1 AND x.uid = $2");
    tx.query_opt(&sql, &[app_id.into(), uid.into()]).await?.as_ref().map(read).transpose()
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<BuildRow>> {
    let sql = format!("{SELECT} WHERE x.app_id = $1 AND x.id < $2 ORDER BY x.id DESC LIMIT $3");
    let params = [app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()];
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

/// Returns false if a sweep has removed the row since it was read. On true, the row stays until the
/// transaction ends.
pub(crate) async fn touch(tx: &mut Tx, id: i64, now: Timestamp) -> Result<bool> {
    Ok(tx.execute("UPDATE builds SET used_at = $2 WHERE id = $1", &[id.into(), now.into()]).await? == 1)
}

/// Returns false if the uid is taken.
pub(crate) async fn insert(tx: &mut Tx, app_id: i64, key: &Digest, build: &Build, blobs: &Blobs) -> Result<bool> {
    let sql = "INSERT INTO builds (app_id, uid, key, package, state, source, command, deployment_blob_id, log_blob_id, reason, \
               started_at, duration_ms, started_by, used_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $11) ON CONFLICT (app_id, uid) DO NOTHING";
    let params = [
        app_id.into(),
        build.id.as_str().into(),
        key.into(),
        build.package.as_str().into(),
        build.state.word().into(),
        (&build.source).into(),
        build.command.as_str().into(),
        blobs.deployment.into(),
        blobs.log.into(),
        build.reason.as_str().into(),
        build.started_at.into(),
        build.duration_ms.into(),
        build.started_by.as_str().into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Removes builds that were not used since `cutoff`. The blobs that they held are swept like
/// everything else that nothing holds.
pub(crate) async fn sweep(tx: &mut Tx, cutoff: Timestamp, limit: i64) -> Result<u64> {
    // The `used_at` of a failed build stays at its start.
    let candidates = format!("SELECT id FROM builds WHERE used_at < $1 LIMIT $2{}", tx.for_delete());
    let mut swept = 0;
    for row in tx.query(&candidates, &[cutoff.into(), limit.into()]).await? {
        swept += tx.execute("DELETE FROM builds WHERE id = $1", &[row.int(0)?.into()]).await?;
    }
    Ok(swept)
}

/// Describes the builds that refer to a blob directly.
pub(crate) async fn holders(tx: &mut Tx, blob_id: i64, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT a.name, x.uid, x.package FROM builds x JOIN apps a ON a.id = x.app_id \
               WHERE x.deployment_blob_id = $1 OR x.log_blob_id = $1 ORDER BY x.id LIMIT $2";
    let rows = tx.query(sql, &[blob_id.into(), limit.into()]).await?;
    rows.iter()
        .map(|row| Ok(format!("app {}: build {} of package {}", row.text(0)?, row.text(1)?, row.text(2)?)))
        .collect()
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    let app: [Val; 1] = [app_id.into()];
    tx.execute("DELETE FROM builds WHERE app_id = $1", &app).await?;
    Ok(())
}

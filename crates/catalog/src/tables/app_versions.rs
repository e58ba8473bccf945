use milepost_model::{GitFacts, Timestamp};

use crate::db::{Row, Tx, Val};
use crate::error::{CatalogError, Result};

#[derive(Debug, Clone)]
pub(crate) struct AppVersionRow {
    pub seq: i64,
    pub uid: String,
    pub created_at: Timestamp,
    pub created_by: String,
    pub message: String,
    pub git: Option<GitFacts>,
}

const COLUMNS: &str = "seq, uid, created_at, created_by, message, git";

fn read(row: &Row) -> Result<AppVersionRow> {
    Ok(AppVersionRow {
        seq: row.int(0)?,
        uid: row.text(1)?,
        created_at: row.time(2)?,
        created_by: row.text(3)?,
        message: row.text(4)?,
        git: row.opt_json(5)?,
    })
}

async fn find(tx: &mut Tx, condition: &str, params: &[Val]) -> Result<Option<AppVersionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM app_versions WHERE app_id = $1 AND {condition}");
    tx.query_opt(&sql, params).await?.as_ref().map(read).transpose()
}

pub(crate) async fn find_by_uid(tx: &mut Tx, app_id: i64, uid: &str) -> Result<Option<AppVersionRow>> {
    find(tx, "uid = $2", &[app_id.into(), uid.into()]).await
}

pub(crate) async fn find_by_seq(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Option<AppVersionRow>> {
    find(tx, "seq = $2", &[app_id.into(), seq.into()]).await
}

pub(crate) async fn get(tx: &mut Tx, app_id: i64, seq: i64) -> Result<AppVersionRow> {
    let found = find_by_seq(tx, app_id, seq).await?;
    found.ok_or_else(|| CatalogError::inconsistent(format!("app {app_id} has no app version {seq}")))
}

/// Newest first, with numbers below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<AppVersionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM app_versions WHERE app_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3");
    let params = [app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()];
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, row: &AppVersionRow) -> Result<()> {
    let sql = "INSERT INTO app_versions (app_id, seq, uid, created_at, created_by, message, git) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let git = row.git.as_ref().and_then(|git| serde_json::to_string(git).ok());
    let params = [
        app_id.into(),
        row.seq.into(),
        row.uid.as_str().into(),
        row.created_at.into(),
        row.created_by.as_str().into(),
        row.message.as_str().into(),
        git.into(),
    ];
    tx.exactly_one(sql, &params).await
}

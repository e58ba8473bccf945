//! Which ended executions are too many, and their deletion.

use milepost_model::Timestamp;

use crate::db::{Tx, Val, placeholders};
use crate::error::Result;

/// Rows per statement.
const CHUNK: usize = 100;

/// Returns the newest ended execution of an app that is not among the newest `keep`.
pub(crate) async fn beyond(tx: &mut Tx, app_id: i64, keep: i64) -> Result<Option<(Timestamp, String)>> {
    let sql = "SELECT finished_at, id FROM executions WHERE app_id = $1 AND finished_at IS NOT NULL \
               ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET $2";
    let row = tx.query_opt(sql, &[app_id.into(), keep.into()]).await?;
    row.map(|row| Ok((row.time(0)?, row.text(1)?))).transpose()
}

/// Returns ended executions of an app up to and including a position, oldest first.
pub(crate) async fn ended_up_to(
    tx: &mut Tx,
    app_id: i64,
    (at, id): (Timestamp, &str),
    limit: i64,
) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT id FROM executions WHERE app_id = $1 AND finished_at IS NOT NULL AND (finished_at, id) <= ($2, $3) \
         ORDER BY finished_at, id LIMIT $4{}",
        tx.for_delete()
    );
    let rows = tx.query(&sql, &[app_id.into(), at.into(), id.into(), limit.into()]).await?;
    rows.iter().map(|row| row.text(0)).collect()
}

pub(crate) async fn delete(tx: &mut Tx, ids: &[String]) -> Result<u64> {
    let mut gone = 0;
    for chunk in ids.chunks(CHUNK) {
        let list = placeholders(chunk.len(), 1);
        let params: Vec<Val> = chunk.iter().map(|id| id.as_str().into()).collect();
        tx.execute(&format!("DELETE FROM execution_logs WHERE execution_id IN ({list})"), &params).await?;
        tx.execute(&format!("DELETE FROM execution_attempts WHERE execution_id IN ({list})"), &params).await?;
        gone += tx.execute(&format!("DELETE FROM executions WHERE id IN ({list})"), &params).await?;
    }
    Ok(gone)
}

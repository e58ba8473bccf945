use milepost_model::Timestamp;
use milepost_model::rollout::judge::{StoredTick, Tick};

use crate::db::{Row, Tx};
use crate::error::{CatalogError, Result};

/// What one node saw in one tick.
#[derive(Debug, Clone)]
pub(crate) struct TickRow {
    pub closed: i64,
    pub step: i64,
    pub ended_at: Timestamp,
    pub tick: Tick,
}

/// Does nothing if the node has sent this tick before.
pub(crate) async fn insert(
    tx: &mut Tx,
    rollout_id: i64,
    (node, number): (&str, i64),
    (step, ended_at): (i64, Timestamp),
    tick: &Tick,
) -> Result<()> {
    let stored = StoredTick::from(tick);
    let sql = "INSERT INTO rollout_ticks (rollout_id, node, number, step, ended_at, seen, failed, timed, slow, counts) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (rollout_id, node, number) DO NOTHING";
    let params = [
        rollout_id.into(),
        node.into(),
        number.into(),
        step.into(),
        ended_at.into(),
        stored.seen.into(),
        stored.failed.into(),
        stored.timed.into(),
        stored.slow.into(),
        stored.counts.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// Gives all rows that have come since the last tick of the judge to a new one.
pub(crate) async fn close(tx: &mut Tx, rollout_id: i64) -> Result<()> {
    let sql = "UPDATE rollout_ticks SET closed = (SELECT coalesce(max(t.closed), 0) + 1 FROM rollout_ticks t \
               WHERE t.rollout_id = $1) WHERE rollout_id = $1 AND closed IS NULL";
    tx.execute(sql, &[rollout_id.into()]).await?;
    Ok(())
}

/// Returns the rows of the judge's ticks after one, in their order.
pub(crate) async fn after(tx: &mut Tx, rollout_id: i64, closed: i64) -> Result<Vec<TickRow>> {
    let sql = "SELECT closed, step, ended_at, seen, failed, timed, slow, counts FROM rollout_ticks \
               WHERE rollout_id = $1 AND closed > $2 ORDER BY closed, id";
    tx.query(sql, &[rollout_id.into(), closed.into()]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<TickRow> {
    let set = |index| Ok::<_, CatalogError>(row.opt_bytes(index)?.unwrap_or_default());
    let stored = StoredTick { seen: set(3)?, failed: set(4)?, timed: set(5)?, slow: set(6)?, counts: row.text(7)? };
    let tick = Tick::try_from(&stored).map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    Ok(TickRow { closed: row.int(0)?, step: row.int(1)?, ended_at: row.time(2)?, tick })
}

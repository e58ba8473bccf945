use milepost_model::Timestamp;

use crate::db::Tx;
use crate::error::Result;

pub(crate) async fn beat(tx: &mut Tx, name: &str, at: Timestamp) -> Result<()> {
    let sql = "INSERT INTO nodes (name, beat_at, keys_secrets) VALUES ($1, $2, 1) \
         ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at, keys_secrets = 1";
    tx.exactly_one(sql, &[name.into(), at.into()]).await
}

/// Records that nodes beat. The watch begins anew if none did for `longest_gap_ms`, or if the
/// database's clock went back. Skipped while another node records the same.
pub(crate) async fn watch(tx: &mut Tx, now: Timestamp, longest_gap_ms: i64) -> Result<()> {
    let sql = format!(
        "UPDATE cluster_watch SET since = CASE WHEN $1 < beat_at OR $1 - beat_at > $2 THEN $1 ELSE since END, \
         beat_at = $1 WHERE id IN (SELECT id FROM cluster_watch{})",
        tx.for_claim()
    );
    tx.execute(&sql, &[now.into(), longest_gap_ms.into()]).await.map(drop)
}

/// Returns since when nodes have been beating without a gap.
pub(crate) async fn watched_since(tx: &mut Tx) -> Result<Timestamp> {
    tx.query_one("SELECT since FROM cluster_watch", &[]).await?.time(0)
}

pub(crate) async fn delete(tx: &mut Tx, name: &str) -> Result<()> {
    tx.execute("DELETE FROM nodes WHERE name = $1", &[name.into()]).await?;
    Ok(())
}

pub(crate) async fn forget_before(tx: &mut Tx, cutoff: Timestamp) -> Result<()> {
    tx.execute("DELETE FROM nodes WHERE beat_at < $1", &[cutoff.into()]).await?;
    Ok(())
}

use milepost_model::Timestamp;

use crate::db::Tx;
use crate::error::Result;

pub(crate) async fn beat(tx: &mut Tx, name: &str, at: Timestamp) -> Result<()> {
    let sql = "INSERT INTO nodes (name, beat_at, keys_secrets) VALUES ($1, $2, 1) \
         ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at, keys_secrets = 1";
    tx.exactly_one(sql, &[name.into(), at.into()]).await
}

pub(crate) async fn delete(tx: &mut Tx, name: &str) -> Result<()> {
    tx.execute("DELETE FROM nodes WHERE name = $1", &[name.into()]).await?;
    Ok(())
}

pub(crate) async fn forget_before(tx: &mut Tx, cutoff: Timestamp) -> Result<()> {
    tx.execute("DELETE FROM nodes WHERE beat_at < $1", &[cutoff.into()]).await?;
    Ok(())
}

use crate::db::Tx;
use crate::error::{CatalogError, Result};

/// The app has this version of the unit from app version `seq` on.
pub(crate) async fn open(tx: &mut Tx, unit_id: i64, seq: i64, version_id: i64) -> Result<()> {
    let sql = "INSERT INTO memberships (unit_id, from_seq, version_id) VALUES ($1, $2, $3)";
    tx.exactly_one(sql, &[unit_id.into(), seq.into(), version_id.into()]).await
}

/// App version `seq` is the first one without the current version of the unit. Deletes a membership
/// that was opened at `seq` itself: it was never in an app version.
pub(crate) async fn close(tx: &mut Tx, unit_id: i64, seq: i64) -> Result<()> {
    let sql = "UPDATE memberships SET until_seq = $2 WHERE unit_id = $1 AND until_seq IS NULL AND from_seq < $2";
    if tx.execute(sql, &[unit_id.into(), seq.into()]).await? == 1 {
        return Ok(());
    }
    let sql = "DELETE FROM memberships WHERE unit_id = $1 AND until_seq IS NULL AND from_seq = $2";
    match tx.execute(sql, &[unit_id.into(), seq.into()]).await? {
        1 => Ok(()),
        rows => Err(CatalogError::inconsistent(format!("unit {unit_id} has {rows} open memberships"))),
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub unit_id: i64,
    pub version_id: i64,
}

/// Returns every unit of app version `seq`. Costs one lookup per unit that the app ever had,
/// independent of the length of its history.
pub(crate) async fn at(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Vec<Member>> {
    let sql = "SELECT m.unit_id, m.version_id FROM units u JOIN memberships m ON m.unit_id = u.id \
               AND m.from_seq = (SELECT max(from_seq) FROM memberships WHERE unit_id = u.id AND from_seq <= $2) \
               WHERE u.app_id = $1 AND (m.until_seq IS NULL OR m.until_seq > $2) ORDER BY u.kind, u.name";
    let rows = tx.query(sql, &[app_id.into(), seq.into()]).await?;
    rows.iter().map(|row| Ok(Member { unit_id: row.int(0)?, version_id: row.int(1)? })).collect()
}

use milepost_model::{AliasName, Timestamp, UnitName};

use crate::db::{Row, Tx};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(crate) struct AliasRow {
    pub name: AliasName,
    pub version_id: i64,
    pub moved_at: Timestamp,
    pub moved_by: String,
}

fn read(row: &Row) -> Result<AliasRow> {
    Ok(AliasRow { name: row.parse(0)?, version_id: row.int(1)?, moved_at: row.time(2)?, moved_by: row.text(3)? })
}

pub(crate) async fn find(tx: &mut Tx, unit_id: i64, name: &AliasName) -> Result<Option<AliasRow>> {
    let sql = "SELECT name, version_id, moved_at, moved_by FROM aliases WHERE unit_id = $1 AND name = $2";
    tx.query_opt(sql, &[unit_id.into(), name.as_str().into()]).await?.as_ref().map(read).transpose()
}

pub(crate) async fn list(tx: &mut Tx, unit_id: i64) -> Result<Vec<AliasRow>> {
    let sql = "SELECT name, version_id, moved_at, moved_by FROM aliases WHERE unit_id = $1 ORDER BY name";
    tx.query(sql, &[unit_id.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn of_version(tx: &mut Tx, version_id: i64) -> Result<Vec<AliasRow>> {
    let sql = "SELECT name, version_id, moved_at, moved_by FROM aliases WHERE version_id = $1 ORDER BY name";
    tx.query(sql, &[version_id.into()]).await?.iter().map(read).collect()
}

/// Returns units that are no longer in the app but still have aliases.
pub(crate) async fn of_removed_units(tx: &mut Tx, app_id: i64) -> Result<Vec<i64>> {
    let sql = "SELECT DISTINCT u.id FROM aliases a JOIN units u ON u.id = a.unit_id \
               WHERE u.app_id = $1 AND u.current_version_id IS NULL ORDER BY u.id";
    tx.query(sql, &[app_id.into()]).await?.iter().map(|row| row.int(0)).collect()
}

pub(crate) async fn set(tx: &mut Tx, unit_id: i64, row: &AliasRow) -> Result<()> {
    let sql = "INSERT INTO aliases (unit_id, name, version_id, moved_at, moved_by) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (unit_id, name) DO UPDATE SET version_id = excluded.version_id, moved_at = excluded.moved_at, \
               moved_by = excluded.moved_by";
    let params = [
        unit_id.into(),
        row.name.as_str().into(),
        row.version_id.into(),
        row.moved_at.into(),
        row.moved_by.as_str().into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn delete(tx: &mut Tx, unit_id: i64, name: &AliasName) -> Result<()> {
    tx.exactly_one("DELETE FROM aliases WHERE unit_id = $1 AND name = $2", &[unit_id.into(), name.as_str().into()])
        .await
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    let sql = "DELETE FROM aliases WHERE unit_id IN (SELECT id FROM units WHERE app_id = $1)";
    tx.execute(sql, &[app_id.into()]).await?;
    Ok(())
}

/// Returns every alias of the app: its function, its name and the id of its version.
pub(crate) async fn of_app(tx: &mut Tx, app_id: i64) -> Result<Vec<(UnitName, AliasName, i64)>> {
    let sql = "SELECT u.name, a.name, a.version_id FROM aliases a JOIN units u ON u.id = a.unit_id \
               WHERE u.app_id = $1 AND u.kind = 'function'";
    let rows = tx.query(sql, &[app_id.into()]).await?;
    rows.iter().map(|row| Ok((row.parse(0)?, row.parse(1)?, row.int(2)?))).collect()
}

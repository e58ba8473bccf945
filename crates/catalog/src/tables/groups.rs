use milepost_model::{GroupName, Timestamp};

use crate::db::Tx;
use crate::error::Result;

pub(crate) async fn find(tx: &mut Tx, app_id: i64, name: &str) -> Result<Option<(i64, Timestamp)>> {
    let sql = "SELECT id, created_at FROM version_groups WHERE app_id = $1 AND name = $2";
    tx.query_opt(sql, &[app_id.into(), name.into()]).await?.map(|row| Ok((row.int(0)?, row.time(1)?))).transpose()
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, name: &GroupName, at: Timestamp) -> Result<i64> {
    let sql = "INSERT INTO version_groups (app_id, name, created_at) VALUES ($1, $2, $3) RETURNING id";
    tx.query_one(sql, &[app_id.into(), name.as_str().into(), at.into()]).await?.int(0)
}

/// Adds a version to a group. A group holds at most one version of a unit: this replaces another
/// one.
pub(crate) async fn add(tx: &mut Tx, group_id: i64, unit_id: i64, version_id: i64) -> Result<()> {
    let sql =
        "DELETE FROM group_members WHERE group_id = $1 AND version_id IN (SELECT id FROM versions WHERE unit_id = $2)";
    tx.execute(sql, &[group_id.into(), unit_id.into()]).await?;
    let sql = "INSERT INTO group_members (group_id, version_id) VALUES ($1, $2)";
    tx.exactly_one(sql, &[group_id.into(), version_id.into()]).await
}

pub(crate) async fn list(tx: &mut Tx, app_id: i64) -> Result<Vec<(i64, GroupName, Timestamp)>> {
    let sql = "SELECT id, name, created_at FROM version_groups WHERE app_id = $1 ORDER BY name";
    let rows = tx.query(sql, &[app_id.into()]).await?;
    rows.iter().map(|row| Ok((row.int(0)?, row.parse(1)?, row.time(2)?))).collect()
}

pub(crate) async fn members(tx: &mut Tx, group_id: i64) -> Result<Vec<i64>> {
    let sql = "SELECT version_id FROM group_members WHERE group_id = $1 ORDER BY version_id";
    tx.query(sql, &[group_id.into()]).await?.iter().map(|row| row.int(0)).collect()
}

pub(crate) async fn of_version(tx: &mut Tx, version_id: i64) -> Result<Vec<GroupName>> {
    let sql = "SELECT g.name FROM group_members m JOIN version_groups g ON g.id = m.group_id WHERE m.version_id = $1 ORDER BY g.name";
    tx.query(sql, &[version_id.into()]).await?.iter().map(|row| row.parse(0)).collect()
}

pub(crate) async fn delete(tx: &mut Tx, group_id: i64) -> Result<()> {
    tx.execute("DELETE FROM group_members WHERE group_id = $1", &[group_id.into()]).await?;
    tx.exactly_one("DELETE FROM version_groups WHERE id = $1", &[group_id.into()]).await
}

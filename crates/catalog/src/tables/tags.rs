use std::collections::BTreeSet;

use milepost_model::TagName;

use crate::db::Tx;
use crate::error::Result;

pub(crate) async fn find(tx: &mut Tx, app_id: i64, name: &str) -> Result<Option<i64>> {
    let row = tx
        .query_opt("SELECT release_id FROM tags WHERE app_id = $1 AND name = $2", &[app_id.into(), name.into()])
        .await?;
    row.map(|row| row.int(0)).transpose()
}

pub(crate) async fn of_release(tx: &mut Tx, release_id: i64) -> Result<Vec<TagName>> {
    let rows = tx.query("SELECT name FROM tags WHERE release_id = $1 ORDER BY name", &[release_id.into()]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

/// Returns the releases that have a tag.
pub(crate) async fn tagged(tx: &mut Tx, app_id: i64) -> Result<BTreeSet<i64>> {
    let rows = tx.query("SELECT DISTINCT release_id FROM tags WHERE app_id = $1", &[app_id.into()]).await?;
    rows.iter().map(|row| row.int(0)).collect()
}

pub(crate) async fn list(tx: &mut Tx, app_id: i64) -> Result<Vec<(TagName, i64)>> {
    let rows = tx.query("SELECT name, release_id FROM tags WHERE app_id = $1 ORDER BY name", &[app_id.into()]).await?;
    rows.iter().map(|row| Ok((row.parse(0)?, row.int(1)?))).collect()
}

pub(crate) async fn set(tx: &mut Tx, app_id: i64, name: &TagName, release_id: i64) -> Result<()> {
    let sql = "INSERT INTO tags (app_id, name, release_id) VALUES ($1, $2, $3) \
               ON CONFLICT (app_id, name) DO UPDATE SET release_id = excluded.release_id";
    tx.exactly_one(sql, &[app_id.into(), name.as_str().into(), release_id.into()]).await
}

pub(crate) async fn delete(tx: &mut Tx, app_id: i64, name: &TagName) -> Result<()> {
    tx.exactly_one("DELETE FROM tags WHERE app_id = $1 AND name = $2", &[app_id.into(), name.as_str().into()]).await
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("DELETE FROM tags WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

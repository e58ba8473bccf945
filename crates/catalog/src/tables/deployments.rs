use milepost_model::change::Deployment;

use crate::db::Tx;
use crate::error::Result;

/// Returns the id of a deployment, creating it if the app does not have it. Its name is updated.
pub(crate) async fn put(tx: &mut Tx, app_id: i64, deployment: &Deployment) -> Result<i64> {
    let sql = "INSERT INTO deployments (app_id, key, name) VALUES ($1, $2, $3) \
               ON CONFLICT (app_id, key) DO UPDATE SET name = excluded.name RETURNING id";
    let params = [app_id.into(), deployment.id.as_str().into(), deployment.name.as_str().into()];
    tx.query_one(sql, &params).await?.int(0)
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<Deployment> {
    let row = tx.query_one("SELECT key, name FROM deployments WHERE id = $1", &[id.into()]).await?;
    Ok(Deployment { id: row.text(0)?, name: row.text(1)? })
}

/// Returns the deployments that own units of the app, with the number of units of each.
pub(crate) async fn list(tx: &mut Tx, app_id: i64) -> Result<Vec<(Deployment, i64)>> {
    let sql = "SELECT d.key, d.name, count(*) FROM deployments d JOIN units u ON u.deployment_id = d.id \
               WHERE d.app_id = $1 AND u.current_version_id IS NOT NULL GROUP BY d.id, d.key, d.name ORDER BY d.name, d.key";
    let rows = tx.query(sql, &[app_id.into()]).await?;
    rows.iter().map(|row| Ok((Deployment { id: row.text(0)?, name: row.text(1)? }, row.int(2)?))).collect()
}

/// Releases ownership of a deployment's units.
pub(crate) async fn free_units(tx: &mut Tx, app_id: i64, key: &str) -> Result<()> {
    let sql = "UPDATE units SET deployment_id = NULL WHERE app_id = $1 \
               AND deployment_id IN (SELECT id FROM deployments WHERE app_id = $1 AND key = $2)";
    tx.execute(sql, &[app_id.into(), key.into()]).await?;
    Ok(())
}

/// For an app that is being deleted: releases ownership of its units and removes its deployments.
pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("UPDATE units SET deployment_id = NULL WHERE app_id = $1", &[app_id.into()]).await?;
    tx.execute("DELETE FROM deployments WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

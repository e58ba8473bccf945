use milepost_model::split::Split;

use crate::db::Tx;
use crate::error::{CatalogError, Result};

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, before: Option<i64>, split: &Split) -> Result<i64> {
    let body = serde_json::to_string(split).map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    let sql = "INSERT INTO splits (app_id, before_id, body) VALUES ($1, $2, $3) RETURNING id";
    tx.query_one(sql, &[app_id.into(), before.into(), body.into()]).await?.int(0)
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<Split> {
    let body = tx.query_one("SELECT body FROM splits WHERE id = $1", &[id.into()]).await?.text(0)?;
    serde_json::from_str(&body).map_err(|error| CatalogError::inconsistent(format!("split {id}: {error}")))
}

/// Returns the split that a split followed.
pub(crate) async fn before(tx: &mut Tx, id: i64) -> Result<Option<Split>> {
    let before = tx.query_one("SELECT before_id FROM splits WHERE id = $1", &[id.into()]).await?.opt_int(0)?;
    match before {
        Some(before) => Ok(Some(get(tx, before).await?)),
        None => Ok(None),
    }
}

//! What all servers over one database must agree on.

use crate::db::Tx;
use crate::error::Result;

/// Stores a value unless there is one, and returns the stored value.
pub(crate) async fn agree(tx: &mut Tx, name: &str, value: &str) -> Result<String> {
    let sql = "INSERT INTO server_facts (name, value) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING value";
    tx.query_one(sql, &[name.into(), value.into()]).await?.text(0)
}

pub(crate) async fn exists(tx: &mut Tx, name: &str) -> Result<bool> {
    Ok(tx.count("SELECT count(*) FROM server_facts WHERE name = $1", &[name.into()]).await? > 0)
}

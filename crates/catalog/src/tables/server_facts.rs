//! What all servers over one database must agree on.

use crate::db::{Engine, Tx};
use crate::error::Result;

/// Stores a value unless there is one, and returns the stored value.
pub(crate) async fn agree(tx: &mut Tx, name: &str, value: &str) -> Result<String> {
    let sql = "INSERT INTO server_facts (name, value) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING value";
    tx.query_one(sql, &[name.into(), value.into()]).await?.text(0)
}

/// Identifies the database: `value`, which a restore replaces, and on PostgreSQL the cluster and
/// its timeline, which a failover changes.
pub(crate) async fn incarnation(tx: &mut Tx, name: &str) -> Result<String> {
    let place = match tx.engine() {
        Engine::Sqlite => "''",
        Engine::Postgres => {
            "(SELECT CAST(system_identifier AS TEXT) FROM pg_control_system()) || '/' \
             || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
        }
    };
    let sql = format!("SELECT {place} || '/' || COALESCE((SELECT value FROM server_facts WHERE name = $1), '')");
    tx.query_one(&sql, &[name.into()]).await?.text(0)
}

pub(crate) async fn exists(tx: &mut Tx, name: &str) -> Result<bool> {
    Ok(tx.count("SELECT count(*) FROM server_facts WHERE name = $1", &[name.into()]).await? > 0)
}

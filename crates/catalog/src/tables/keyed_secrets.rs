//! Versions of secrets whose digest is bound to app and name, and the digests that they had before.

use milepost_model::{AppName, Digest, Timestamp, UnitName};

use super::versions::{self, VersionRow};
use crate::db::{Row, Tx};
use crate::error::Result;

/// A version of a secret that is not re-keyed yet.
#[derive(Debug, Clone)]
pub struct OldSecret {
    pub version_id: i64,
    pub app_id: i64,
    pub app: AppName,
    pub name: UnitName,
    pub number: i64,
    pub digest: Digest,
    /// `None` once the version is deleted.
    pub content_id: Option<i64>,
    pub sealed: Option<Vec<u8>>,
    unit_id: i64,
}

/// A position in the list of old secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct OldSecretPlace {
    unit_id: i64,
    number: i64,
}

impl OldSecret {
    /// Position to continue the list after this one.
    pub fn place(&self) -> OldSecretPlace {
        OldSecretPlace { unit_id: self.unit_id, number: self.number }
    }
}

fn read(row: &Row) -> Result<OldSecret> {
    Ok(OldSecret {
        version_id: row.int(0)?,
        app_id: row.int(1)?,
        app: row.parse(2)?,
        name: row.parse(3)?,
        number: row.int(4)?,
        digest: row.digest(5)?,
        content_id: row.opt_int(6)?,
        sealed: row.opt_bytes(7)?,
        unit_id: row.int(8)?,
    })
}

/// Returns old secrets in order of position, including those of deleted apps.
pub(crate) async fn missing(tx: &mut Tx, after: OldSecretPlace, limit: i64) -> Result<Vec<OldSecret>> {
    let sql = "SELECT v.id, a.id, a.name, u.name, v.number, v.digest, v.content_id, c.sealed, u.id \
               FROM units u JOIN apps a ON a.id = u.app_id JOIN versions v ON v.unit_id = u.id \
               LEFT JOIN contents c ON c.id = v.content_id \
               WHERE u.kind = 'secret' AND u.id >= $1 AND (u.id > $1 OR v.number > $2) \
               AND NOT EXISTS (SELECT 1 FROM keyed_secrets k WHERE k.version_id = v.id) \
               ORDER BY u.id, v.number LIMIT $3";
    let params = [after.unit_id.into(), after.number.into(), limit.into()];
    tx.query(sql, &params).await?.iter().map(read).collect()
}

/// Records a version that was made with a bound digest.
pub(crate) async fn insert(tx: &mut Tx, version: &VersionRow) -> Result<()> {
    let sql = "INSERT INTO keyed_secrets (version_id, unit_id) VALUES ($1, $2)";
    tx.exactly_one(sql, &[version.id.into(), version.unit_id.into()]).await
}

/// Stores the digest of a version that is about to get another one. Returns false if it has been
/// re-keyed, or if its content is no longer that of `old`.
pub(crate) async fn keep_former(tx: &mut Tx, old: &OldSecret) -> Result<bool> {
    let sql = "INSERT INTO keyed_secrets (version_id, unit_id, former_digest) \
               SELECT v.id, v.unit_id, v.digest FROM versions v \
               WHERE v.id = $1 AND v.digest = $2 AND COALESCE(v.content_id, 0) = $3 ON CONFLICT DO NOTHING";
    let params = [old.version_id.into(), (&old.digest).into(), old.content_id.unwrap_or(0).into()];
    Ok(tx.execute(sql, &params).await? > 0)
}

/// Returns active versions whose former digest lies between two bounds, newest first.
pub(crate) async fn find_by_former(tx: &mut Tx, unit_id: i64, low: &[u8], high: &[u8]) -> Result<Vec<VersionRow>> {
    let sql = "SELECT k.version_id FROM keyed_secrets k JOIN versions v ON v.id = k.version_id \
               WHERE k.unit_id = $1 AND k.former_digest >= $2 AND k.former_digest <= $3 AND v.state = 'active' \
               ORDER BY k.version_id DESC LIMIT 50";
    let mut found = Vec::new();
    for row in tx.query(sql, &[unit_id.into(), low.to_vec().into(), high.to_vec().into()]).await? {
        found.push(versions::get(tx, row.int(0)?).await?);
    }
    Ok(found)
}

/// Reports whether a node with an older program, which does not make bound digests, sent a beat
/// since then.
pub(crate) async fn has_old_nodes(tx: &mut Tx, since: Timestamp) -> Result<bool> {
    let sql = "SELECT count(*) FROM nodes WHERE keys_secrets = 0 AND beat_at > $1";
    Ok(tx.count(sql, &[since.into()]).await? > 0)
}

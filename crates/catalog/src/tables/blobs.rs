use std::collections::HashMap;

use milepost_model::{Digest, Timestamp};

use crate::db::{Tx, Val, placeholders};
use crate::error::Result;
use crate::tables::versions::VersionState;

/// Rows per statement: large enough that thousands of files cost few round trips, and within
/// SQLite's limit on parameters.
const CHUNK: usize = 400;

/// The location of a blob's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRow {
    pub digest: Digest,
    pub size: u64,
    pub is_directory: bool,
    pub pack: String,
    pub offset: u64,
}

/// A blob of a pack that was just stored.
#[derive(Debug, Clone)]
pub struct NewBlob {
    pub digest: Digest,
    pub size: u64,
    pub offset: u64,
    /// Everything that a directory refers to; `None` for a file.
    pub children: Option<Vec<Digest>>,
}

/// Returns the ids of the known digests.
pub(crate) async fn ids(tx: &mut Tx, digests: &[Digest]) -> Result<HashMap<Digest, i64>> {
    find(tx, digests, "").await
}

/// Returns the ids of the known digests and locks their rows until the transaction ends, because
/// references to them are about to be written.
pub(crate) async fn ids_for_reference(tx: &mut Tx, digests: &[Digest]) -> Result<HashMap<Digest, i64>> {
    let lock = tx.for_reference();
    find(tx, digests, lock).await
}

async fn find(tx: &mut Tx, digests: &[Digest], lock: &str) -> Result<HashMap<Digest, i64>> {
    let mut found = HashMap::new();
    for chunk in digests.chunks(CHUNK) {
        let sql = format!("SELECT digest, id FROM blobs WHERE digest IN ({}){lock}", placeholders(chunk.len(), 1));
        let params: Vec<Val> = chunk.iter().map(Val::from).collect();
        for row in tx.query(&sql, &params).await? {
            found.insert(row.digest(0)?, row.int(1)?);
        }
    }
    Ok(found)
}

/// Postpones the sweep of blobs that a client relies on. `digests` must be sorted. Skips rows that
/// were touched since `not_since`.
pub(crate) async fn touch(tx: &mut Tx, digests: &[Digest], now: Timestamp, not_since: Timestamp) -> Result<()> {
    for chunk in digests.chunks(CHUNK) {
        let list = placeholders(chunk.len(), 1);
        let at = chunk.len() + 1;
        let mut params: Vec<Val> = chunk.iter().map(Val::from).collect();
        params.push(not_since.into());
        // Locks in the order in which uploads insert, to avoid deadlocks.
        let old = format!(
            "SELECT id FROM blobs WHERE digest IN ({list}) AND touched_at < ${at} ORDER BY digest{}",
            tx.for_update()
        );
        if tx.query(&old, &params).await?.is_empty() {
            continue;
        }
        params.push(now.into());
        let sql = format!("UPDATE blobs SET touched_at = ${} WHERE digest IN ({list}) AND touched_at < ${at}", at + 1);
        tx.execute(&sql, &params).await?;
    }
    Ok(())
}

pub(crate) async fn insert_pack(tx: &mut Tx, name: &str, size: u64, at: Timestamp) -> Result<i64> {
    let sql = "INSERT INTO packs (name, size, created_at) VALUES ($1, $2, $3) RETURNING id";
    tx.query_one(sql, &[name.into(), (size as i64).into(), at.into()]).await?.int(0)
}

/// Inserts blobs, which must be sorted by digest so that two uploads with common files cannot
/// deadlock. A known blob keeps its location and is touched. Bytes that were uploaded as a file may
/// become a directory too.
pub(crate) async fn insert(
    tx: &mut Tx,
    app_id: i64,
    pack_id: i64,
    blobs: &[&NewBlob],
    at: Timestamp,
) -> Result<HashMap<Digest, i64>> {
    let mut ids = HashMap::new();
    for chunk in blobs.chunks(CHUNK / 4) {
        let sql = format!(
            "INSERT INTO blobs (digest, size, is_directory, pack_id, pack_offset, touched_at, app_id) VALUES {} \
             ON CONFLICT (digest) DO UPDATE SET touched_at = excluded.touched_at, \
             is_directory = CASE WHEN excluded.is_directory = 1 THEN 1 ELSE blobs.is_directory END RETURNING digest, id",
            placeholders(chunk.len(), 7)
        );
        let mut params: Vec<Val> = Vec::with_capacity(chunk.len() * 7);
        for blob in chunk {
            params.push((&blob.digest).into());
            params.push((blob.size as i64).into());
            params.push(blob.children.is_some().into());
            params.push(pack_id.into());
            params.push((blob.offset as i64).into());
            params.push(at.into());
            params.push(app_id.into());
        }
        for row in tx.query(&sql, &params).await? {
            ids.insert(row.digest(0)?, row.int(1)?);
        }
    }
    Ok(ids)
}

pub(crate) async fn insert_edges(tx: &mut Tx, edges: &[(i64, i64)]) -> Result<()> {
    for chunk in edges.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO tree_edges (parent_id, child_id) VALUES {} ON CONFLICT DO NOTHING",
            placeholders(chunk.len(), 2)
        );
        let params: Vec<Val> = chunk.iter().flat_map(|(parent, child)| [(*parent).into(), (*child).into()]).collect();
        tx.execute(&sql, &params).await?;
    }
    Ok(())
}

pub(crate) async fn locate(tx: &mut Tx, digests: &[Digest]) -> Result<Vec<BlobRow>> {
    let mut found = Vec::with_capacity(digests.len());
    for chunk in digests.chunks(CHUNK) {
        let sql = format!(
            "SELECT b.digest, b.size, b.is_directory, p.name, b.pack_offset FROM blobs b JOIN packs p ON p.id = b.pack_id \
             WHERE b.digest IN ({})",
            placeholders(chunk.len(), 1)
        );
        let params: Vec<Val> = chunk.iter().map(Val::from).collect();
        for row in tx.query(&sql, &params).await? {
            found.push(BlobRow {
                digest: row.digest(0)?,
                size: row.int(1)? as u64,
                is_directory: row.bool(2)?,
                pack: row.text(3)?,
                offset: row.int(4)? as u64,
            });
        }
    }
    Ok(found)
}

pub(crate) async fn stored_bytes(tx: &mut Tx, app_id: i64) -> Result<u64> {
    let sql = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE app_id = $1";
    Ok(tx.count(sql, &[app_id.into()]).await? as u64)
}

/// Removes blobs that nothing refers to and that were not touched since `cutoff`. Roots go first;
/// their children go in the next round. A concurrent new version, directory or touch wins.
pub(crate) async fn sweep(tx: &mut Tx, cutoff: Timestamp, limit: i64) -> Result<(u64, u64)> {
    let unheld = "b.touched_at < $1 AND NOT EXISTS (SELECT 1 FROM tree_edges e WHERE e.child_id = b.id) \
                  AND NOT EXISTS (SELECT 1 FROM content_blobs c WHERE c.blob_id = b.id) \
                  AND NOT EXISTS (SELECT 1 FROM builds x WHERE x.deployment_blob_id = b.id) \
                  AND NOT EXISTS (SELECT 1 FROM builds x WHERE x.log_blob_id = b.id)";
    let candidates = format!("SELECT b.id FROM blobs b WHERE {unheld} LIMIT $2{}", tx.for_delete());
    let recheck = format!("SELECT b.size FROM blobs b WHERE {unheld} AND b.id = $2");
    let (mut count, mut bytes) = (0, 0);
    for row in tx.query(&candidates, &[cutoff.into(), limit.into()]).await? {
        let id: [Val; 1] = [row.int(0)?.into()];
        let Some(row) = tx.query_opt(&recheck, &[cutoff.into(), id[0].clone()]).await? else { continue };
        tx.execute("DELETE FROM tree_edges WHERE parent_id = $1", &id).await?;
        tx.exactly_one("DELETE FROM blobs WHERE id = $1", &id).await?;
        count += 1;
        bytes += row.int(0)? as u64;
    }
    Ok((count, bytes))
}

/// Removes packs without blobs and returns their names. A pack is registered together with its
/// blobs, so an empty one stays empty.
pub(crate) async fn sweep_packs(tx: &mut Tx) -> Result<Vec<String>> {
    let sql = "DELETE FROM packs WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.pack_id = packs.id) RETURNING name";
    tx.query(sql, &[]).await?.iter().map(|row| row.text(0)).collect()
}

pub(crate) async fn pack_names(tx: &mut Tx) -> Result<Vec<String>> {
    tx.query("SELECT name FROM packs", &[]).await?.iter().map(|row| row.text(0)).collect()
}

/// Returns the directories that hold a blob.
pub(crate) async fn parents(tx: &mut Tx, id: i64, limit: i64) -> Result<Vec<i64>> {
    let rows =
        tx.query("SELECT parent_id FROM tree_edges WHERE child_id = $1 LIMIT $2", &[id.into(), limit.into()]).await?;
    rows.iter().map(|row| row.int(0)).collect()
}

/// Describes the versions whose content refers to a blob directly.
pub(crate) async fn holders(tx: &mut Tx, id: i64, limit: i64) -> Result<Vec<String>> {
    let sql = "SELECT a.name, u.kind, u.name, v.number, v.state FROM content_blobs c JOIN versions v ON v.content_id = c.content_id \
               JOIN units u ON u.id = v.unit_id JOIN apps a ON a.id = v.app_id WHERE c.blob_id = $1 ORDER BY v.id LIMIT $2";
    let rows = tx.query(sql, &[id.into(), limit.into()]).await?;
    rows.iter()
        .map(|row| {
            let state: VersionState = row.word(4, "versions.state")?;
            let retired = if state == VersionState::Retired { " (retired)" } else { "" };
            Ok(format!("app {}: {} {} version {}{retired}", row.text(0)?, row.text(1)?, row.text(2)?, row.int(3)?))
        })
        .collect()
}

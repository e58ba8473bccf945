use milepost_model::{Code, Digest, Refusal, UnitKind, UnitSpec, canonical};

use crate::db::{Tx, Val};
use crate::error::{CatalogError, Result};

/// Stores content once for an app and answers its id. Its blobs must be there already.
pub(crate) async fn put(
    tx: &mut Tx,
    app_id: i64,
    spec: &UnitSpec,
    digest: &Digest,
    sealed: Option<&[u8]>,
) -> Result<i64> {
    let behaviour = spec.behaviour();
    let body = String::from_utf8(canonical::to_bytes(&behaviour))
        .map_err(|error| CatalogError::inconsistent(format!("canonical JSON is not UTF-8: {error}")))?;
    let params =
        [app_id.into(), digest.into(), spec.kind().as_str().into(), body.into(), sealed.map(<[u8]>::to_vec).into()];
    let id = insert(tx, &params).await?;
    let mut missing = Vec::new();
    for blob in spec.blobs() {
        let sql = format!("SELECT id FROM blobs WHERE digest = $1{}", tx.for_reference());
        let row = tx.query_opt(&sql, &[(&blob).into()]).await?;
        let Some(row) = row else {
            missing.push(blob.to_string());
            continue;
        };
        let sql = "INSERT INTO content_blobs (content_id, blob_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(sql, &[id.into(), row.int(0)?.into()]).await?;
    }
    if missing.is_empty() {
        return Ok(id);
    }
    Err(Refusal::new(Code::MissingBlobs, "Files of this change are not on the server.")
        .hint("upload them first and send the change again")
        .blockers(missing)
        .into())
}

/// The id of the content, held so that a sweep at the same time cannot take it away.
async fn insert(tx: &mut Tx, params: &[Val; 5]) -> Result<i64> {
    let insert = "INSERT INTO contents (app_id, digest, kind, body, sealed) VALUES ($1, $2, $3, $4, $5) \
                  ON CONFLICT (app_id, digest) DO NOTHING RETURNING id";
    let find = format!("SELECT id FROM contents WHERE app_id = $1 AND digest = $2{}", tx.for_reference());
    // The second try is for content that was swept between the two looks.
    for _ in 0..2 {
        if let Some(row) = tx.query_opt(insert, params).await? {
            return row.int(0);
        }
        if let Some(row) = tx.query_opt(&find, &params[..2]).await? {
            return row.int(0);
        }
    }
    Err(CatalogError::inconsistent("content is there when it is inserted and not when it is read".to_owned()))
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<UnitSpec> {
    let row = tx.query_one("SELECT kind, body FROM contents WHERE id = $1", &[id.into()]).await?;
    let kind: UnitKind = row.parse(0)?;
    UnitSpec::from_json(kind, &row.text(1)?)
        .map_err(|error| CatalogError::inconsistent(format!("content {id}: {error}")))
}

pub(crate) async fn sealed(tx: &mut Tx, id: i64) -> Result<Option<Vec<u8>>> {
    tx.query_one("SELECT sealed FROM contents WHERE id = $1", &[id.into()]).await?.opt_bytes(0)
}

/// Removes content that no version refers to, and answers how many there were.
pub(crate) async fn sweep(tx: &mut Tx, limit: i64) -> Result<u64> {
    let unheld = "NOT EXISTS (SELECT 1 FROM versions v WHERE v.content_id = c.id)";
    let candidates = format!("SELECT c.id FROM contents c WHERE {unheld} LIMIT $1{}", tx.for_delete());
    let recheck = format!("SELECT c.id FROM contents c WHERE c.id = $1 AND {unheld}");
    let mut swept = 0;
    for row in tx.query(&candidates, &[limit.into()]).await? {
        let id: [Val; 1] = [row.int(0)?.into()];
        if tx.query_opt(&recheck, &id).await?.is_some() {
            tx.execute("DELETE FROM content_blobs WHERE content_id = $1", &id).await?;
            swept += tx.execute("DELETE FROM contents WHERE id = $1", &id).await?;
        }
    }
    Ok(swept)
}

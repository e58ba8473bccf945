use milepost_model::change::UnitKey;
use milepost_model::spec::RouteSpec;
use milepost_model::{Code, Digest, Refusal, UnitKind, UnitSpec, canonical};

use crate::db::{Tx, Val};
use crate::error::{CatalogError, Result};

/// What to do about blobs that the server does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Refuse,
    /// For a dry run, which compares digests and needs no bytes: the client sends them once it
    /// knows what is needed.
    Ignore,
}

/// Stores content once per app and returns its id. Its blobs must be registered already.
pub(crate) async fn put(
    tx: &mut Tx,
    app_id: i64,
    spec: &UnitSpec,
    digest: &Digest,
    sealed: Option<&[u8]>,
    on_missing: Missing,
) -> Result<i64> {
    let body = String::from_utf8(canonical::to_bytes(&body(spec)))
        .map_err(|error| CatalogError::inconsistent(format!("canonical JSON is not UTF-8: {error}")))?;
    let params =
        [app_id.into(), digest.into(), spec.kind().as_str().into(), body.into(), sealed.map(<[u8]>::to_vec).into()];
    let (id, is_new) = insert(tx, &params).await?;
    if !is_new {
        // Its references were recorded on first insert and live as long as the content.
        return Ok(id);
    }
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
    if missing.is_empty() || on_missing == Missing::Ignore {
        return Ok(id);
    }
    Err(Refusal::new(Code::MissingBlobs, "the server does not have all files of this change")
        .correct("upload them first and send the change again")
        .missing(missing)
        .into())
}

/// The behaviour of a unit, and for a package also the log of its build. Equal content keeps the
/// first log.
fn body(spec: &UnitSpec) -> serde_json::Value {
    let mut body = spec.behaviour();
    if let UnitSpec::Package(package) = spec
        && let Some(log) = package.build_log
    {
        body["buildLog"] = serde_json::json!(log);
    }
    body
}

/// Returns the id of the content, locked against a concurrent sweep, and whether it is new.
async fn insert(tx: &mut Tx, params: &[Val; 5]) -> Result<(i64, bool)> {
    let insert = "INSERT INTO contents (app_id, digest, kind, body, sealed) VALUES ($1, $2, $3, $4, $5) \
                  ON CONFLICT (app_id, digest) DO NOTHING RETURNING id";
    let find = format!("SELECT id FROM contents WHERE app_id = $1 AND digest = $2{}", tx.for_reference());
    // The second attempt covers content that a sweep removed between the two statements.
    for _ in 0..2 {
        if let Some(row) = tx.query_opt(insert, params).await? {
            return Ok((row.int(0)?, true));
        }
        if let Some(row) = tx.query_opt(&find, &params[..2]).await? {
            return Ok((row.int(0)?, false));
        }
    }
    Err(CatalogError::inconsistent("content is there when it is inserted and not when it is read".to_owned()))
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<UnitSpec> {
    let row = tx.query_one("SELECT kind, body FROM contents WHERE id = $1", &[id.into()]).await?;
    let kind: UnitKind = row.word(0, "contents.kind")?;
    UnitSpec::from_json(kind, &row.text(1)?)
        .map_err(|error| CatalogError::inconsistent(format!("content {id}: {error}")))
}

/// Returns content of the app by its digest, if it still exists.
pub(crate) async fn find(tx: &mut Tx, app_id: i64, digest: &Digest) -> Result<Option<UnitSpec>> {
    let sql = "SELECT id FROM contents WHERE app_id = $1 AND digest = $2";
    match tx.query_opt(sql, &[app_id.into(), digest.into()]).await? {
        Some(row) => get(tx, row.int(0)?).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the current units of the app that may depend on others: packages, functions, routes and
/// timers.
pub(crate) async fn of_dependents(tx: &mut Tx, app_id: i64) -> Result<Vec<(UnitKey, UnitSpec)>> {
    of_kinds(tx, app_id, "'package', 'function', 'route', 'timer'").await
}

/// Returns the current routes of the app.
pub(crate) async fn of_routes(tx: &mut Tx, app_id: i64) -> Result<Vec<(UnitKey, RouteSpec)>> {
    let all = of_kinds(tx, app_id, "'route'").await?;
    Ok(all
        .into_iter()
        .filter_map(|(key, spec)| if let UnitSpec::Route(route) = spec { Some((key, route)) } else { None })
        .collect())
}

/// Returns the routes of an app version.
pub(crate) async fn routes_at(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Vec<RouteSpec>> {
    let sql = "SELECT c.body FROM units u JOIN memberships m ON m.unit_id = u.id AND m.from_seq <= $2 \
               AND (m.until_seq IS NULL OR m.until_seq > $2) JOIN versions v ON v.id = m.version_id \
               JOIN contents c ON c.id = v.content_id WHERE u.app_id = $1 AND u.kind = 'route'";
    let mut found = Vec::new();
    for row in tx.query(sql, &[app_id.into(), seq.into()]).await? {
        match UnitSpec::from_json(UnitKind::Route, &row.text(0)?) {
            Ok(UnitSpec::Route(route)) => found.push(route),
            Ok(_) => {}
            Err(error) => return Err(CatalogError::inconsistent(format!("a route of app version {seq}: {error}"))),
        }
    }
    Ok(found)
}

async fn of_kinds(tx: &mut Tx, app_id: i64, kinds: &str) -> Result<Vec<(UnitKey, UnitSpec)>> {
    let sql = format!(
        "SELECT u.kind, u.name, c.body FROM units u JOIN versions v ON v.id = u.current_version_id \
         JOIN contents c ON c.id = v.content_id WHERE u.app_id = $1 AND u.kind IN ({kinds})"
    );
    let mut found = Vec::new();
    for row in tx.query(&sql, &[app_id.into()]).await? {
        let key = UnitKey { kind: row.word(0, "units.kind")?, name: row.parse(1)? };
        let spec = UnitSpec::from_json(key.kind, &row.text(2)?)
            .map_err(|error| CatalogError::inconsistent(format!("content of {key}: {error}")))?;
        found.push((key, spec));
    }
    // Sorts by the order of the kinds, which is not alphabetical.
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

pub(crate) async fn sealed(tx: &mut Tx, id: i64) -> Result<Option<Vec<u8>>> {
    tx.query_one("SELECT sealed FROM contents WHERE id = $1", &[id.into()]).await?.opt_bytes(0)
}

/// Removes content that no version refers to, and returns how many rows.
pub(crate) async fn sweep(tx: &mut Tx, limit: i64) -> Result<u64> {
    let unheld = "NOT EXISTS (SELECT 1 FROM versions v WHERE v.content_id = c.id)";
    let candidates = format!("SELECT c.id FROM contents c WHERE {unheld} LIMIT $1{}", tx.for_delete());
    let recheck = format!("SELECT c.id FROM contents c WHERE c.id = $1 AND {unheld}");
    let mut swept = 0;
    for row in tx.query(&candidates, &[limit.into()]).await? {
        let id: [Val; 1] = [row.int(0)?.into()];
        if tx.query_opt(&recheck, &id).await?.is_some() {
            tx.execute("DELETE FROM content_blobs WHERE content_id = $1", &id).await?;
            tx.exactly_one("DELETE FROM contents WHERE id = $1", &id).await?;
            swept += 1;
        }
    }
    Ok(swept)
}

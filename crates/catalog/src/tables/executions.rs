use std::collections::HashSet;

use milepost_model::execution::{
    Cause, ExecutedVersion, Execution, ExecutionFilter, ExecutionStatus, Failure, MAX_LISTED,
};
use milepost_model::{AppName, RawJson, Timestamp};

use crate::db::{Row, Tx, Val, placeholders};
use crate::error::{CatalogError, Result};
use crate::ops::claim::Node;
use crate::tables::execution_input;

/// An execution, with internal state of the catalog and of the node that runs it.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionRow {
    pub app: AppName,
    pub version_id: Option<i64>,
    pub attempt: i64,
    pub attempt_at: Option<Timestamp>,
    pub node: Option<String>,
    /// Its `attempts` are left empty.
    pub execution: Execution,
}

/// An execution to insert.
pub(crate) struct NewRow {
    pub id: String,
    pub app_id: i64,
    pub unit_id: i64,
    pub version_id: Option<i64>,
    pub selector: String,
    pub sync: bool,
    pub input: Option<String>,
    pub description: String,
    pub started_by: String,
    pub cause: Cause,
    pub scheduled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub birth: Birth,
}

/// How an execution begins.
pub(crate) enum Birth {
    Queued,
    /// A node runs it at once and waits for the result.
    Running {
        node: String,
    },
    /// It cannot run; holds the reason.
    Error(String),
}

const COLUMNS: usize = 21;
/// Rows per statement.
const CHUNK: usize = 100;

/// Whether to return inputs and results that are too large for a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    All,
    Listed,
}

fn select(show: Show) -> String {
    let (input, result, shortened) = match show {
        Show::All => ("e.input".to_owned(), "e.result".to_owned(), "0".to_owned()),
        Show::Listed => {
            let small = |column: &str| format!("CASE WHEN octet_length({column}) <= {MAX_LISTED} THEN {column} END");
            let large = format!(
                "CASE WHEN octet_length(e.input) > {MAX_LISTED} OR octet_length(e.result) > {MAX_LISTED} THEN 1 ELSE 0 END"
            );
            (small("e.input"), small("e.result"), large)
        }
    };
    format!(
        "SELECT e.id, a.name, u.name, e.version_id, v.number, v.uid, v.digest, e.selector, e.status, e.sync, {input}, {result}, \
         {shortened}, e.description, e.started_by, e.cause, e.cause_id, e.scheduled_at, e.created_at, e.started_at, \
         e.finished_at, e.duration_ms, e.attempt, e.attempt_at, e.node, e.cancel, e.failure FROM executions e \
         JOIN apps a ON a.id = e.app_id JOIN units u ON u.id = e.unit_id LEFT JOIN versions v ON v.id = e.version_id"
    )
}

fn read(row: &Row) -> Result<ExecutionRow> {
    let version_id = row.opt_int(3)?;
    let version = match version_id {
        Some(_) => Some(ExecutedVersion { number: row.int(4)?, uid: row.text(5)?, digest: row.digest(6)? }),
        None => None,
    };
    let status: ExecutionStatus = row.word(8, "executions.status")?;
    let (input, headers) = execution_input::split(row.opt_text(10)?)?;
    let execution = Execution {
        id: row.text(0)?,
        function: row.parse(2)?,
        version,
        selector: row.parse(7)?,
        status,
        sync: row.bool(9)?,
        input,
        headers,
        result: row.opt_json(11)?,
        failure: row.opt_text(26)?.map(|text| failure(&text)).transpose()?,
        shortened: row.bool(12)?,
        description: row.text(13)?,
        started_by: row.text(14)?,
        cause: Cause::of(row.word(15, "executions.cause")?, row.opt_text(16)?),
        scheduled_at: row.opt_time(17)?,
        created_at: row.time(18)?,
        started_at: row.opt_time(19)?,
        finished_at: row.opt_time(20)?,
        duration_ms: row.opt_int(21)?,
        cancelling: status == ExecutionStatus::Running && row.bool(25)?,
        attempts: Vec::new(),
    };
    Ok(ExecutionRow {
        app: row.parse(1)?,
        version_id,
        attempt: row.int(22)?,
        attempt_at: row.opt_time(23)?,
        node: row.opt_text(24)?,
        execution,
    })
}

fn failure(text: &str) -> Result<Failure> {
    serde_json::from_str(text)
        .map_err(|error| CatalogError::inconsistent(format!("an execution has the failure `{text}`: {error}")))
}

/// Returns the ids that were written. A tick that already has an execution is skipped.
pub(crate) async fn insert(tx: &mut Tx, rows: &[NewRow]) -> Result<HashSet<String>> {
    let mut written = HashSet::with_capacity(rows.len());
    for chunk in rows.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO executions (id, app_id, unit_id, version_id, selector, status, sync, input, result, description, started_by, \
             cause, cause_id, scheduled_at, created_at, started_at, finished_at, attempt, attempt_at, node, cancel) VALUES {} \
             ON CONFLICT DO NOTHING RETURNING id",
            placeholders(chunk.len(), COLUMNS)
        );
        let params: Vec<Val> = chunk.iter().flat_map(values).collect();
        for row in tx.query(&sql, &params).await? {
            written.insert(row.text(0)?);
        }
    }
    Ok(written)
}

fn values(row: &NewRow) -> [Val; COLUMNS] {
    let at = row.created_at;
    let (status, result, started, finished, attempt, node) = match &row.birth {
        Birth::Queued => (ExecutionStatus::Queued, None, None, None, 0, None),
        Birth::Running { node } => (ExecutionStatus::Running, None, Some(at), None, 1, Some(node.as_str())),
        Birth::Error(why) => {
            (ExecutionStatus::Error, Some(RawJson::from(why.as_str()).to_string()), None, Some(at), 0, None)
        }
    };
    [
        row.id.as_str().into(),
        row.app_id.into(),
        row.unit_id.into(),
        row.version_id.into(),
        row.selector.as_str().into(),
        status.as_str().into(),
        row.sync.into(),
        row.input.as_deref().into(),
        result.into(),
        row.description.as_str().into(),
        row.started_by.as_str().into(),
        row.cause.kind.as_str().into(),
        row.cause.id.as_deref().into(),
        row.scheduled_at.into(),
        at.into(),
        started.into(),
        finished.into(),
        attempt.into(),
        started.into(),
        node.into(),
        false.into(),
    ]
}

pub(crate) async fn find(tx: &mut Tx, app_id: i64, id: &str) -> Result<Option<ExecutionRow>> {
    let sql = format!("{} WHERE e.id = $1 AND e.app_id = $2", select(Show::All));
    tx.query_opt(&sql, &[id.into(), app_id.into()]).await?.as_ref().map(read).transpose()
}

pub(crate) async fn get_many(tx: &mut Tx, ids: &[String]) -> Result<Vec<ExecutionRow>> {
    let mut found = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let sql = format!("{} WHERE e.id IN ({}) ORDER BY e.id", select(Show::All), placeholders(chunk.len(), 1));
        let params: Vec<Val> = chunk.iter().map(|id| id.as_str().into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.push(read(&row)?);
        }
    }
    Ok(found)
}

/// A filter, with the id of the function that it names, if any.
pub(crate) struct Listed<'f> {
    pub filter: &'f ExecutionFilter,
    pub unit_id: Option<i64>,
    /// The id of that function's version with the number in the filter.
    pub version_id: Option<i64>,
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(
    tx: &mut Tx,
    app_id: i64,
    listed: Listed<'_>,
    below: Option<&str>,
    limit: i64,
) -> Result<Vec<ExecutionRow>> {
    let filter = listed.filter;
    // Ids are hexadecimal, so all of them are below `z`.
    let mut params: Vec<Val> = vec![app_id.into(), below.unwrap_or("z").into(), limit.into()];
    let mut conditions = String::new();
    let mut only = |condition: &str, value: Val| {
        params.push(value);
        conditions.push_str(&format!(" AND {condition} ${}", params.len()));
    };
    match (listed.version_id, filter.version) {
        (Some(version_id), _) => only("e.version_id =", version_id.into()),
        (None, Some(number)) => only("v.number =", number.into()),
        (None, None) => {}
    }
    if let Some(unit_id) = listed.unit_id.filter(|_| listed.version_id.is_none()) {
        only("e.unit_id =", unit_id.into());
    }
    if let Some(cause) = filter.cause {
        only("e.cause =", cause.as_str().into());
    }
    if let Some(id) = &filter.cause_id {
        only("e.cause_id =", id.as_str().into());
    }
    if let Some(since) = filter.since {
        // Ids begin with their creation time, so this skips older rows.
        only("e.id >=", crate::uuids::first_of(since).into());
        only("e.created_at >=", since.into());
    }
    if let Some(status) = filter.status {
        // Written as a literal, because a partial index is used only if the statement contains its
        // condition.
        let ended = if status.is_ended() { " AND e.finished_at IS NOT NULL" } else { "" };
        conditions.push_str(&format!(" AND e.status = '{status}'{ended}"));
    }
    let sql =
        format!("{} WHERE e.app_id = $1 AND e.id < $2{conditions} ORDER BY e.id DESC LIMIT $3", select(Show::Listed));
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

/// Returns the status of an execution and locks it until the transaction ends.
pub(crate) async fn lock(tx: &mut Tx, app_id: i64, id: &str) -> Result<Option<ExecutionStatus>> {
    let sql = format!("SELECT status FROM executions WHERE id = $1 AND app_id = $2{}", tx.for_update());
    tx.query_opt(&sql, &[id.into(), app_id.into()]).await?.map(|row| row.word(0, "executions.status")).transpose()
}

/// Ends an execution that is not running.
pub(crate) async fn end(
    tx: &mut Tx,
    id: &str,
    status: ExecutionStatus,
    result: Option<&RawJson>,
    at: Timestamp,
) -> Result<()> {
    let sql = "UPDATE executions SET status = $2, result = $3, finished_at = $4, cancel = 0 WHERE id = $1";
    let params = [id.into(), status.as_str().into(), result.map(RawJson::as_str).into(), at.into()];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn ask_to_cancel(tx: &mut Tx, id: &str) -> Result<()> {
    tx.exactly_one("UPDATE executions SET cancel = 1 WHERE id = $1", &[id.into()]).await
}

/// Parameters of [`finish`].
pub(crate) struct End<'a> {
    pub id: &'a str,
    pub node: &'a str,
    pub attempt: i64,
    pub status: ExecutionStatus,
    pub result: Option<String>,
    pub failure: Option<&'a Failure>,
    pub duration_ms: i64,
    pub at: Timestamp,
}

/// Returns false, and changes nothing, if the attempt is no longer the current one.
pub(crate) async fn finish(tx: &mut Tx, end: End<'_>) -> Result<bool> {
    let failure = end.failure.map(serde_json::to_string).transpose();
    let failure = failure.map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    let sql = "UPDATE executions SET status = $4, result = $5, finished_at = $6, duration_ms = $7, failure = $8, cancel = 0 \
               WHERE id = $1 AND node = $2 AND attempt = $3 AND status = 'running'";
    let params = [
        end.id.into(),
        end.node.into(),
        end.attempt.into(),
        end.status.as_str().into(),
        end.result.into(),
        end.at.into(),
        end.duration_ms.into(),
        failure.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// The number of an app's executions that are running, for an app with queued ones.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub app_id: i64,
    pub plan: milepost_model::PlanName,
    pub running: i64,
    /// Those running on the node that asks.
    pub here: i64,
}

/// Returns the apps with ids above `after` that have an execution to claim, in the order of their
/// ids.
pub(crate) async fn waiting(tx: &mut Tx, node: &str, now: Timestamp, after: i64, limit: i64) -> Result<Vec<Waiting>> {
    // Takes one index step per app, however many executions each has queued.
    let sql = "WITH RECURSIVE t(app_id) AS ( \
                   SELECT min(app_id) FROM executions WHERE status = 'queued' AND app_id > $1 AND (not_before IS NULL OR not_before <= $4) \
                   UNION ALL \
                   SELECT (SELECT min(e.app_id) FROM executions e WHERE e.status = 'queued' AND e.app_id > t.app_id \
                       AND (e.not_before IS NULL OR e.not_before <= $4)) \
                   FROM t WHERE t.app_id IS NOT NULL) \
               SELECT t.app_id, a.plan, (SELECT count(*) FROM executions r WHERE r.status = 'running' AND r.app_id = t.app_id), \
               (SELECT count(*) FROM executions r WHERE r.status = 'running' AND r.app_id = t.app_id AND r.node = $3) \
               FROM (SELECT app_id FROM t WHERE app_id IS NOT NULL LIMIT $2) AS t JOIN apps a ON a.id = t.app_id ORDER BY t.app_id";
    let rows = tx.query(sql, &[after.into(), limit.into(), node.into(), now.into()]).await?;
    rows.iter()
        .map(|row| {
            Ok(Waiting {
                app_id: row.int(0)?,
                plan: row.word(1, "apps.plan")?,
                running: row.int(2)?,
                here: row.int(3)?,
            })
        })
        .collect()
}

/// Counts queued executions, up to `most`.
pub(crate) async fn queued(tx: &mut Tx, app_id: i64, most: i64) -> Result<i64> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM executions WHERE status = 'queued' AND app_id = $1 LIMIT $2) AS q";
    tx.count(sql, &[app_id.into(), most.into()]).await
}

pub(crate) async fn running(tx: &mut Tx, app_id: i64) -> Result<i64> {
    tx.count("SELECT count(*) FROM executions WHERE status = 'running' AND app_id = $1", &[app_id.into()]).await
}

/// Claims the oldest queued executions.
pub(crate) async fn claim(tx: &mut Tx, app_id: i64, node: &str, at: Timestamp, most: i64) -> Result<Vec<String>> {
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id FROM executions WHERE app_id = $1 AND status = 'queued' \
         AND (not_before IS NULL OR not_before <= $4) ORDER BY id LIMIT $2{}) \
         UPDATE executions SET status = 'running', node = $3, attempt = attempt + 1, attempt_at = $4, not_before = NULL, \
         started_at = COALESCE(started_at, $4) WHERE id IN (SELECT id FROM picked) RETURNING id",
        tx.for_claim()
    );
    let rows = tx.query(&sql, &[app_id.into(), most.into(), node.into(), at.into()]).await?;
    rows.iter().map(|row| row.text(0)).collect()
}

/// Returns the running executions of a node that are to be cancelled, with their attempts.
pub(crate) async fn cancelling(tx: &mut Tx, node: &str) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT id, attempt FROM executions WHERE status = 'running' AND node = $1 AND cancel = 1";
    tx.query(sql, &[node.into()]).await?.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
}

/// Returns the executions that a node has been running since before `cutoff`, with their attempts.
pub(crate) async fn held(tx: &mut Tx, node: &str, cutoff: Timestamp) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT id, attempt FROM executions WHERE status = 'running' AND node = $1 AND attempt_at < $2";
    let rows = tx.query(sql, &[node.into(), cutoff.into()]).await?;
    rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
}

/// A running execution whose node is gone or does not know it.
pub(crate) struct Lost {
    pub id: String,
    pub attempt: i64,
    pub attempt_at: Timestamp,
    pub node: String,
    pub sync: bool,
    pub cancel: bool,
    /// Whether the attempt reached an instance. Always true for a first attempt: recording it would
    /// cost one write per execution.
    pub begun: bool,
}

const LOST: &str = "SELECT id, attempt, attempt_at, node, sync, cancel, CASE WHEN attempt = 1 OR begun = attempt THEN 1 ELSE 0 END \
                    FROM executions WHERE status = 'running'";

/// Returns running executions of a node, provided that its last beat is still the given one;
/// without a node, of all nodes.
pub(crate) async fn lost(tx: &mut Tx, dead: Option<&Node>, limit: i64) -> Result<Vec<Lost>> {
    let rows = match dead {
        None => tx.query(&format!("{LOST} LIMIT $1{}", tx.for_claim()), &[limit.into()]).await?,
        Some(dead) => {
            let beat = "SELECT 1 FROM nodes WHERE name = $2 AND beat_at IS DISTINCT FROM CAST($3 AS BIGINT)";
            let sql = format!("{LOST} AND node = $2 AND NOT EXISTS ({beat}) LIMIT $1{}", tx.for_claim());
            tx.query(&sql, &[limit.into(), dead.name.as_str().into(), dead.beat_at.into()]).await?
        }
    };
    rows.iter().map(read_lost).collect()
}

/// Returns the nodes with running executions and their last beats. A node without a beat has left.
pub(crate) async fn nodes(tx: &mut Tx) -> Result<Vec<Node>> {
    let sql = "SELECT r.node, n.beat_at FROM (SELECT DISTINCT node FROM executions WHERE status = 'running') AS r \
               LEFT JOIN nodes n ON n.name = r.node WHERE r.node IS NOT NULL";
    let rows = tx.query(sql, &[]).await?;
    rows.iter().map(|row| Ok(Node { name: row.text(0)?, beat_at: row.opt_time(1)? })).collect()
}

/// Returns an attempt of a node if it is still the current one, and locks it until the transaction
/// ends.
pub(crate) async fn lost_attempt(tx: &mut Tx, id: &str, node: &str, attempt: i64) -> Result<Option<Lost>> {
    let sql = format!("{LOST} AND id = $1 AND node = $2 AND attempt = $3{}", tx.for_update());
    tx.query_opt(&sql, &[id.into(), node.into(), attempt.into()]).await?.as_ref().map(read_lost).transpose()
}

fn read_lost(row: &Row) -> Result<Lost> {
    Ok(Lost {
        id: row.text(0)?,
        attempt: row.int(1)?,
        attempt_at: row.time(2)?,
        node: row.text(3)?,
        sync: row.bool(4)?,
        cancel: row.bool(5)?,
        begun: row.bool(6)?,
    })
}

/// Records that an instance has the attempt. Returns false if it is no longer the current one.
pub(crate) async fn begin(tx: &mut Tx, id: &str, node: &str, attempt: i64) -> Result<bool> {
    let sql =
        "UPDATE executions SET begun = attempt WHERE id = $1 AND node = $2 AND attempt = $3 AND status = 'running'";
    Ok(tx.execute(sql, &[id.into(), node.into(), attempt.into()]).await? == 1)
}

pub(crate) async fn requeue(tx: &mut Tx, id: &str) -> Result<()> {
    tx.exactly_one("UPDATE executions SET status = 'queued', node = NULL WHERE id = $1", &[id.into()]).await
}

/// Puts an execution back as if it had not been claimed. It may be claimed again from `not_before`
/// on.
pub(crate) async fn unclaim(tx: &mut Tx, id: &str, not_before: Timestamp) -> Result<()> {
    let sql = "UPDATE executions SET status = 'queued', node = NULL, attempt = attempt - 1, attempt_at = NULL, begun = NULL, not_before = $2, \
               started_at = CASE WHEN attempt = 1 THEN NULL ELSE started_at END WHERE id = $1";
    tx.exactly_one(sql, &[id.into(), not_before.into()]).await
}

/// Like [`unclaim`], and keeps the time of the first claim.
pub(crate) async fn unclaim_unstarted(tx: &mut Tx, id: &str, not_before: Timestamp) -> Result<()> {
    let sql = "UPDATE executions SET status = 'queued', node = NULL, attempt = attempt - 1, attempt_at = NULL, begun = NULL, \
               not_before = $2 WHERE id = $1";
    tx.exactly_one(sql, &[id.into(), not_before.into()]).await
}

/// Returns when an execution was claimed for the first time.
pub(crate) async fn started_at(tx: &mut Tx, id: &str) -> Result<Option<Timestamp>> {
    tx.query_one("SELECT started_at FROM executions WHERE id = $1", &[id.into()]).await?.opt_time(0)
}

/// Returns ids of executions that have not ended and need a version, up to `limit`, and their total
/// number.
pub(crate) async fn open_of_version(tx: &mut Tx, version_id: i64, limit: i64) -> Result<(Vec<String>, i64)> {
    let of = "FROM executions WHERE version_id = $1 AND finished_at IS NULL";
    let rows = tx.query(&format!("SELECT id {of} ORDER BY id LIMIT $2"), &[version_id.into(), limit.into()]).await?;
    let ids = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>>>()?;
    let count = if (ids.len() as i64) < limit {
        ids.len() as i64
    } else {
        tx.count(&format!("SELECT count(*) {of}"), &[version_id.into()]).await?
    };
    Ok((ids, count))
}

/// For an app that is being deleted: cancels what is queued and asks what runs to stop.
pub(crate) async fn cancel_all(tx: &mut Tx, app_id: i64, at: Timestamp) -> Result<()> {
    let queued = "UPDATE executions SET status = 'cancelled', finished_at = $2 WHERE app_id = $1 AND status = 'queued'";
    tx.execute(queued, &[app_id.into(), at.into()]).await?;
    let running = "UPDATE executions SET cancel = 1 WHERE app_id = $1 AND status = 'running'";
    tx.execute(running, &[app_id.into()]).await?;
    Ok(())
}

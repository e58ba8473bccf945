use std::collections::HashMap;

use milepost_model::job::{Job, JobState};
use milepost_model::{RawJson, Timestamp};

use crate::db::{Row, Tx, Val, typed_placeholders};
use crate::error::Result;
use crate::needs::Needed;

/// A job with its internal columns.
#[derive(Debug, Clone)]
pub(crate) struct JobRow {
    pub app_id: i64,
    pub unit_id: i64,
    /// `None` if each firing resolves the selector.
    pub version_id: Option<i64>,
    pub job: Job,
}

/// Rows per statement.
const CHUNK: usize = 200;

const SELECT: &str = "SELECT j.id, j.app_id, j.unit_id, j.version_id, j.name, u.name, j.selector, v.number, j.cron, j.zone, \
                      j.first_at, j.remaining, j.input, j.state, j.next_at, j.fired, j.created_at, j.created_by, j.updated_at \
                      FROM jobs j JOIN units u ON u.id = j.unit_id LEFT JOIN versions v ON v.id = j.version_id";

fn read(row: &Row) -> Result<JobRow> {
    let job = Job {
        id: row.text(0)?,
        name: row.text(4)?,
        function: row.parse(5)?,
        selector: row.parse(6)?,
        version: row.opt_int(7)?,
        cron: row.opt_text(8)?,
        zone: row.text(9)?,
        first_at: row.opt_time(10)?,
        count: row.opt_int(11)?,
        input: row.opt_json(12)?,
        state: row.word(13, "jobs.state")?,
        next_at: row.opt_time(14)?,
        fired: row.int(15)?,
        created_at: row.time(16)?,
        created_by: row.text(17)?,
        updated_at: row.opt_time(18)?,
    };
    Ok(JobRow { app_id: row.int(1)?, unit_id: row.int(2)?, version_id: row.opt_int(3)?, job })
}

fn input(job: &Job) -> Val {
    job.input.as_ref().map(RawJson::as_str).into()
}

pub(crate) async fn insert(tx: &mut Tx, row: &JobRow) -> Result<()> {
    let sql = "INSERT INTO jobs (id, app_id, unit_id, version_id, name, selector, cron, zone, first_at, remaining, input, state, \
               next_at, fired, created_at, created_by) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    let job = &row.job;
    let params = [
        job.id.as_str().into(),
        row.app_id.into(),
        row.unit_id.into(),
        row.version_id.into(),
        job.name.as_str().into(),
        job.selector.to_string().into(),
        job.cron.as_deref().into(),
        job.zone.as_str().into(),
        job.first_at.into(),
        job.count.into(),
        input(job),
        job.state.as_str().into(),
        job.next_at.into(),
        job.fired.into(),
        job.created_at.into(),
        job.created_by.as_str().into(),
    ];
    tx.exactly_one(sql, &params).await
}

/// Writes back what users may change.
pub(crate) async fn save(tx: &mut Tx, job: &Job) -> Result<()> {
    let sql = "UPDATE jobs SET name = $2, cron = $3, zone = $4, remaining = $5, input = $6, state = $7, next_at = $8, \
               updated_at = $9, ended_at = $10 WHERE id = $1";
    let params = [
        job.id.as_str().into(),
        job.name.as_str().into(),
        job.cron.as_deref().into(),
        job.zone.as_str().into(),
        job.count.into(),
        input(job),
        job.state.as_str().into(),
        job.next_at.into(),
        job.updated_at.into(),
        job.updated_at.filter(|_| !job.state.is_open()).into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn find(tx: &mut Tx, app_id: i64, id: &str) -> Result<Option<JobRow>> {
    let sql = format!("{SELECT} WHERE j.id = $1 AND j.app_id = $2");
    tx.query_opt(&sql, &[id.into(), app_id.into()]).await?.as_ref().map(read).transpose()
}

/// Like [`find`], and locks the row until the transaction ends. Waits for a firing that has it.
pub(crate) async fn lock(tx: &mut Tx, app_id: i64, id: &str) -> Result<Option<JobRow>> {
    let lock = format!("SELECT id FROM jobs WHERE id = $1 AND app_id = $2{}", tx.for_update());
    if tx.query_opt(&lock, &[id.into(), app_id.into()]).await?.is_none() {
        return Ok(None);
    }
    find(tx, app_id, id).await
}

/// Newest first, with ids below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<&str>, limit: i64) -> Result<Vec<JobRow>> {
    let sql = format!("{SELECT} WHERE j.app_id = $1 AND j.id < $2 ORDER BY j.id DESC LIMIT $3");
    tx.query(&sql, &[app_id.into(), below.unwrap_or("z").into(), limit.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn delete(tx: &mut Tx, id: &str) -> Result<()> {
    tx.exactly_one("DELETE FROM jobs WHERE id = $1", &[id.into()]).await
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("DELETE FROM jobs WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

/// Returns jobs with a name: first the ids of unfinished ones, then of the others, newest first.
pub(crate) async fn named(tx: &mut Tx, app_id: i64, name: &str, limit: i64) -> Result<Vec<(String, JobState)>> {
    let sql = "SELECT id, state FROM jobs WHERE app_id = $1 AND name = $2 AND name <> '' \
               ORDER BY CASE WHEN state IN ('running', 'paused') THEN 0 ELSE 1 END, id DESC LIMIT $3";
    let rows = tx.query(sql, &[app_id.into(), name.into(), limit.into()]).await?;
    rows.iter().map(|row| Ok((row.text(0)?, row.word(1, "jobs.state")?))).collect()
}

/// Deletes jobs that were done or cancelled at or before `up_to`.
pub(crate) async fn forget_ended(tx: &mut Tx, app_id: i64, up_to: Timestamp) -> Result<u64> {
    tx.execute("DELETE FROM jobs WHERE app_id = $1 AND ended_at <= $2", &[app_id.into(), up_to.into()]).await
}

/// Describes each unfinished job, as in `nightly (0190…)`.
pub(crate) async fn open(tx: &mut Tx, needed: Needed<'_>, limit: i64) -> Result<Vec<String>> {
    let (condition, params) = needed.condition();
    let sql = format!(
        "SELECT id, name FROM jobs WHERE {condition} AND state IN ('running', 'paused') ORDER BY id LIMIT {limit}"
    );
    let told = |row: &Row| {
        let (id, name) = (row.text(0)?, row.text(1)?);
        Ok(if name.is_empty() { id } else { format!("{name} ({id})") })
    };
    tx.query(&sql, &params).await?.iter().map(told).collect()
}

/// Returns running jobs that are due, earliest first. Skips jobs that another transaction is
/// firing.
pub(crate) async fn due(tx: &mut Tx, now: Timestamp, limit: i64) -> Result<Vec<JobRow>> {
    let picked = format!("SELECT id FROM jobs WHERE next_at <= $1 ORDER BY next_at LIMIT $2{}", tx.for_claim());
    let ids = tx.query(&picked, &[now.into(), limit.into()]).await?;
    let mut found = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let params = chunk.iter().map(|row| Ok(row.text(0)?.into())).collect::<Result<Vec<Val>>>()?;
        let sql = format!("{SELECT} WHERE j.id IN ({})", crate::db::placeholders(chunk.len(), 1));
        for row in tx.query(&sql, &params).await? {
            found.push(read(&row)?);
        }
    }
    Ok(found)
}

/// State of a job after it fired.
pub(crate) struct Advanced {
    pub id: String,
    pub next_at: Option<Timestamp>,
    pub remaining: Option<i64>,
    pub state: JobState,
    pub fired: i64,
}

pub(crate) async fn advance(tx: &mut Tx, jobs: &[Advanced], at: Timestamp) -> Result<()> {
    for chunk in jobs.chunks(CHUNK) {
        let types = ["TEXT", "BIGINT", "BIGINT", "TEXT", "BIGINT", "BIGINT"];
        let sql = format!(
            "UPDATE jobs SET next_at = w.column2, remaining = w.column3, state = w.column4, fired = w.column5, ended_at = w.column6 \
             FROM (VALUES {}) AS w WHERE jobs.id = w.column1",
            typed_placeholders(chunk.len(), &types)
        );
        let mut params: Vec<Val> = Vec::with_capacity(chunk.len() * types.len());
        for job in chunk {
            params.push(job.id.as_str().into());
            params.push(job.next_at.into());
            params.push(job.remaining.into());
            params.push(job.state.as_str().into());
            params.push(job.fired.into());
            params.push(Some(at).filter(|_| !job.state.is_open()).into());
        }
        tx.exactly(chunk.len(), &sql, &params).await?;
    }
    Ok(())
}

pub(crate) async fn earliest(tx: &mut Tx) -> Result<Option<Timestamp>> {
    tx.query_one("SELECT min(next_at) FROM jobs WHERE next_at IS NOT NULL", &[]).await?.opt_time(0)
}

/// Returns the names of those of these jobs that have one.
pub(crate) async fn names(tx: &mut Tx, ids: &[&str]) -> Result<HashMap<String, String>> {
    let mut found = HashMap::new();
    for chunk in ids.chunks(CHUNK) {
        let list = crate::db::placeholders(chunk.len(), 1);
        let sql = format!("SELECT id, name FROM jobs WHERE name <> '' AND id IN ({list})");
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.insert(row.text(0)?, row.text(1)?);
        }
    }
    Ok(found)
}

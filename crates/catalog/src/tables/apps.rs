use milepost_model::release::LiveMode;
use milepost_model::{AppName, Code, Digest, Next, PlanName, Refusal, Timestamp};

use crate::db::{Row, Tx};
use crate::error::Result;
use crate::read::Position;
use crate::words::Word as _;

#[derive(Debug, Clone)]
pub(crate) struct AppRow {
    pub id: i64,
    pub name: AppName,
    pub plan: PlanName,
    pub created_at: Timestamp,
    pub created_by: String,
    pub head_seq: i64,
    pub event_seq: i64,
    pub live_mode: LiveMode,
    pub live_release_id: Option<i64>,
    pub latest_release_id: Option<i64>,
    /// The digest of the newest event that has one, and its number. Only `events::insert` sets them.
    pub head_digest: Option<Digest>,
    pub head_digest_seq: i64,
    /// What stands beside live while a rollout is open.
    pub live_split_id: Option<i64>,
}

impl AppRow {
    /// The digest of the newest event. `None` if an earlier program wrote it.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.head_digest.filter(|_| self.head_digest_seq == self.event_seq)
    }
}

const COLUMNS: &str = "id, name, plan, created_at, created_by, head_seq, event_seq, live_mode, live_release_id, latest_release_id, \
     head_digest, head_digest_seq, live_split_id";

fn read(row: &Row) -> Result<AppRow> {
    Ok(AppRow {
        id: row.int(0)?,
        name: row.parse(1)?,
        plan: row.word(2, "apps.plan")?,
        created_at: row.time(3)?,
        created_by: row.text(4)?,
        head_seq: row.int(5)?,
        event_seq: row.int(6)?,
        live_mode: row.word(7, "apps.live_mode")?,
        live_release_id: row.opt_int(8)?,
        latest_release_id: row.opt_int(9)?,
        head_digest: row.opt_digest(10)?,
        head_digest_seq: row.int(11)?,
        live_split_id: row.opt_int(12)?,
    })
}

pub(crate) async fn find(tx: &mut Tx, name: &AppName) -> Result<Option<AppRow>> {
    let sql = format!("SELECT {COLUMNS} FROM apps WHERE name = $1 AND deleted_at IS NULL");
    tx.query_opt(&sql, &[name.as_str().into()]).await?.as_ref().map(read).transpose()
}

pub(crate) async fn get(tx: &mut Tx, name: &AppName) -> Result<AppRow> {
    match find(tx, name).await? {
        Some(app) => Ok(app),
        None => Err(unknown(tx, name).await?.into()),
    }
}

/// Locks the app's row until the transaction ends. Every write to an app begins here, so writes to
/// one app are serialised, and two writes that lock the same rows cannot deadlock.
pub(crate) async fn lock(tx: &mut Tx, name: &AppName) -> Result<AppRow> {
    tx.queue_for(&format!("milepost app {name}")).await?;
    let sql = format!("SELECT {COLUMNS} FROM apps WHERE name = $1 AND deleted_at IS NULL{}", tx.for_update());
    match tx.query_opt(&sql, &[name.as_str().into()]).await? {
        Some(row) => read(&row),
        None => Err(unknown(tx, name).await?.into()),
    }
}

async fn unknown(tx: &mut Tx, name: &AppName) -> Result<Refusal> {
    let names = list(tx, None, 200).await?.into_iter().map(|app| app.name.to_string()).collect::<Vec<_>>();
    let message = format!("app `{name}` does not exist");
    let create = [Next::CreateApp { app: name.to_string() }];
    Ok(Refusal::not_found(Code::AppNotFound, message, name.as_str(), &names, create))
}

/// Returns `None` for a deleted app.
pub(crate) async fn name_of(tx: &mut Tx, id: i64) -> Result<Option<AppName>> {
    let row = tx.query_opt("SELECT name FROM apps WHERE id = $1 AND deleted_at IS NULL", &[id.into()]).await?;
    row.map(|row| row.parse(0)).transpose()
}

pub(crate) async fn list(tx: &mut Tx, after: Option<&str>, limit: i64) -> Result<Vec<AppRow>> {
    let sql = format!("SELECT {COLUMNS} FROM apps WHERE deleted_at IS NULL AND name > $1 ORDER BY name LIMIT $2");
    let rows = tx.query(&sql, &[after.unwrap_or("").into(), limit.into()]).await?;
    rows.iter().map(read).collect()
}

pub(crate) async fn insert(tx: &mut Tx, name: &AppName, plan: PlanName, at: Timestamp, by: &str) -> Result<AppRow> {
    let sql = format!(
        "INSERT INTO apps (name, plan, created_at, created_by, head_seq, event_seq, live_mode) \
         VALUES ($1, $2, $3, $4, 0, 0, 'following') ON CONFLICT DO NOTHING RETURNING {COLUMNS}"
    );
    let params = [name.as_str().into(), plan.as_str().into(), at.into(), by.into()];
    match tx.query_opt(&sql, &params).await? {
        Some(row) => read(&row),
        None => Err(Refusal::new(Code::AppExists, format!("app `{name}` already exists"))
            .correct("choose another name, or use the existing app")
            .into()),
    }
}

/// Reports whether a word is or was used by anything in the app that shares the namespace of uids:
/// versions, their labels, app versions, releases, tags.
pub(crate) async fn word_taken(tx: &mut Tx, app_id: i64, word: &str) -> Result<bool> {
    let sql = "SELECT (SELECT count(*) FROM versions WHERE app_id = $1 AND uid = $2) \
               + (SELECT count(*) FROM versions WHERE app_id = $1 AND label = $2) \
               + (SELECT count(*) FROM app_versions WHERE app_id = $1 AND uid = $2) \
               + (SELECT count(*) FROM releases WHERE app_id = $1 AND name = $2) \
               + (SELECT count(*) FROM tags WHERE app_id = $1 AND name = $2)";
    Ok(tx.count(sql, &[app_id.into(), word.into()]).await? > 0)
}

/// Writes back the columns that a transaction may change.
pub(crate) async fn save(tx: &mut Tx, app: &AppRow) -> Result<()> {
    let sql = "UPDATE apps SET plan = $2, head_seq = $3, event_seq = $4, live_mode = $5, live_release_id = $6, \
               latest_release_id = $7, head_digest = $8, head_digest_seq = $9, live_split_id = $10 WHERE id = $1";
    let params = [
        app.id.into(),
        app.plan.as_str().into(),
        app.head_seq.into(),
        app.event_seq.into(),
        app.live_mode.word().into(),
        app.live_release_id.into(),
        app.latest_release_id.into(),
        app.head_digest.as_ref().into(),
        app.head_digest_seq.into(),
        app.live_split_id.into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn mark_deleted(tx: &mut Tx, id: i64, at: Timestamp) -> Result<()> {
    tx.exactly_one("UPDATE apps SET deleted_at = $2 WHERE id = $1", &[id.into(), at.into()]).await
}

/// Locks the row of an app, deleted or not, as every change does.
pub(crate) async fn lock_by_id(tx: &mut Tx, id: i64) -> Result<()> {
    tx.query(&format!("SELECT id FROM apps WHERE id = $1{}", tx.for_update()), &[id.into()]).await?;
    Ok(())
}

/// Locks all apps and returns each with its live release.
pub(crate) async fn lock_all(tx: &mut Tx) -> Result<Vec<(i64, Option<i64>)>> {
    let sql = format!("SELECT id, live_release_id FROM apps WHERE deleted_at IS NULL ORDER BY id{}", tx.for_update());
    tx.query(&sql, &[]).await?.iter().map(|row| Ok((row.int(0)?, row.opt_int(1)?))).collect()
}

pub(crate) async fn plan(tx: &mut Tx, id: i64) -> Result<PlanName> {
    tx.query_one("SELECT plan FROM apps WHERE id = $1", &[id.into()]).await?.word(0, "apps.plan")
}

/// Returns every app with its position: its id, and the number and digest of its newest event.
pub(crate) async fn marks(tx: &mut Tx) -> Result<Vec<(AppName, Position)>> {
    let sql = "SELECT name, id, event_seq, CASE WHEN head_digest_seq = event_seq THEN head_digest END FROM apps \
               WHERE deleted_at IS NULL ORDER BY event_seq DESC";
    let read = |row: &Row| {
        let position = Position { app_id: row.int(1)?, event: row.int(2)?, digest: row.opt_digest(3)? };
        Ok((row.parse(0)?, position))
    };
    tx.query(sql, &[]).await?.iter().map(read).collect()
}

/// Returns apps with executions or jobs that have ended: the plan, and whether the app is deleted.
pub(crate) async fn with_ended(tx: &mut Tx) -> Result<Vec<(i64, PlanName, bool)>> {
    let sql = "SELECT a.id, a.plan, CASE WHEN a.deleted_at IS NULL THEN 0 ELSE 1 END FROM apps a \
               WHERE EXISTS (SELECT 1 FROM executions e WHERE e.app_id = a.id AND e.finished_at IS NOT NULL) \
               OR EXISTS (SELECT 1 FROM jobs j WHERE j.app_id = a.id AND j.ended_at IS NOT NULL)";
    let rows = tx.query(sql, &[]).await?;
    rows.iter().map(|row| Ok((row.int(0)?, row.word(1, "apps.plan")?, row.bool(2)?))).collect()
}

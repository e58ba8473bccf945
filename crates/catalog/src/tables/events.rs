use milepost_model::event::{Event, EventKind};
use serde_json::Value;

use crate::db::{Row, Tx, Val, placeholders};
use crate::error::{CatalogError, Result};
use milepost_model::change::Act;

pub(crate) struct NewEvent {
    pub seq: i64,
    pub kind: EventKind,
    pub subject: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Events per statement.
const CHUNK: usize = 64;

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, act: &Act, events: &[NewEvent]) -> Result<()> {
    for chunk in events.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO events (app_id, seq, happened_at, actor, kind, subject, before_json, after_json) VALUES {}",
            placeholders(chunk.len(), 8)
        );
        let mut params: Vec<Val> = Vec::with_capacity(chunk.len() * 8);
        for event in chunk {
            params.push(app_id.into());
            params.push(event.seq.into());
            params.push(act.at.into());
            params.push(act.actor.as_str().into());
            params.push(event.kind.as_str().into());
            params.push(event.subject.as_str().into());
            params.push(event.before.as_ref().map(Value::to_string).into());
            params.push(event.after.as_ref().map(Value::to_string).into());
        }
        tx.exactly(chunk.len(), &sql, &params).await?;
    }
    Ok(())
}

fn read(row: &Row) -> Result<Event> {
    Ok(Event {
        id: row.int(0)?,
        at: row.time(1)?,
        actor: row.text(2)?,
        kind: row.text(3)?,
        subject: row.text(4)?,
        before: row.opt_json(5)?,
        after: row.opt_json(6)?,
    })
}

/// Returns the newest event of a kind about a subject.
pub(crate) async fn last_about(tx: &mut Tx, app_id: i64, kind: EventKind, subject: &str) -> Result<Option<Event>> {
    let sql = "SELECT seq, happened_at, actor, kind, subject, before_json, after_json FROM events \
               WHERE app_id = $1 AND kind = $2 AND subject = $3 ORDER BY seq DESC LIMIT 1";
    let row = tx.query_opt(sql, &[app_id.into(), kind.as_str().into(), subject.into()]).await?;
    row.as_ref().map(read).transpose()
}

/// Reports whether a deployment made an app version after an event, or in the same transaction.
pub(crate) async fn deployed_since(tx: &mut Tx, app_id: i64, seq: i64, deployment: &str) -> Result<bool> {
    // The pattern narrows the search to this deployment, so that other deploys do not use up the
    // limit. It may match too much: LIKE ignores case in SQLite, and the text may be nested deeper.
    // So the parsed value decides.
    let sql = "SELECT after_json FROM events WHERE app_id = $1 AND seq > $2 AND kind = $3 \
               AND after_json LIKE $4 ESCAPE '!' ORDER BY seq DESC LIMIT 16";
    let member = format!("\"deployment\":{}", Value::from(deployment));
    let pattern = format!("%{}%", member.replace('!', "!!").replace('%', "!%").replace('_', "!_"));
    let params = [app_id.into(), seq.into(), EventKind::AppVersionCreated.as_str().into(), pattern.into()];
    for row in tx.query(sql, &params).await? {
        if row.opt_json(0)?.is_some_and(|after: Value| after["deployment"] == deployment) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Newest first, with numbers below `below`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<Event>> {
    let sql = "SELECT seq, happened_at, actor, kind, subject, before_json, after_json FROM events \
               WHERE app_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
    let rows = tx.query(sql, &[app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()]).await?;
    rows.iter().map(read).collect::<Result<_, CatalogError>>()
}

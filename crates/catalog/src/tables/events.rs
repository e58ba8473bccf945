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
        tx.execute(&sql, &params).await?;
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

/// Newest first, below a number.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<Event>> {
    let sql = "SELECT seq, happened_at, actor, kind, subject, before_json, after_json FROM events \
               WHERE app_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
    let rows = tx.query(sql, &[app_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()]).await?;
    rows.iter().map(read).collect::<Result<_, CatalogError>>()
}

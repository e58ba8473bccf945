use milepost_model::event::{Event, EventKind};
use serde_json::Value;

use crate::db::{Row, Tx};
use crate::error::{CatalogError, Result};
use milepost_model::change::Act;

pub(crate) struct NewEvent<'a> {
    pub kind: EventKind,
    pub subject: &'a str,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, seq: i64, act: &Act, new: &NewEvent<'_>) -> Result<()> {
    let sql = "INSERT INTO events (app_id, seq, happened_at, actor, kind, subject, before_json, after_json) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let params = [
        app_id.into(),
        seq.into(),
        act.at.into(),
        act.actor.as_str().into(),
        new.kind.as_str().into(),
        new.subject.into(),
        new.before.as_ref().map(Value::to_string).into(),
        new.after.as_ref().map(Value::to_string).into(),
    ];
    tx.execute(sql, &params).await?;
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

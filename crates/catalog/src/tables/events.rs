use milepost_model::Digest;
use milepost_model::chain::{self, Link};
use milepost_model::event::{Event, EventKind};
use serde_json::Value;

use crate::db::{Row, Tx, Val, placeholders};
use crate::error::{CatalogError, Result};
use crate::tables::apps::AppRow;
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
const COLUMNS: usize = 9;
/// Events of an earlier program that are chained at most.
const GAP: i64 = 1000;

/// Inserts events after the app's newest one and extends its chain.
pub(crate) async fn insert(tx: &mut Tx, app: &mut AppRow, act: &Act, events: &[NewEvent]) -> Result<()> {
    let Some(first) = events.first() else { return Ok(()) };
    let mut head = match app.head_digest_seq == first.seq - 1 {
        true => app.head_digest,
        false => across_gap(tx, app, first.seq).await?,
    };
    for chunk in events.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO events (app_id, seq, happened_at, actor, kind, subject, before_json, after_json, digest) VALUES {}",
            placeholders(chunk.len(), COLUMNS)
        );
        let mut params: Vec<Val> = Vec::with_capacity(chunk.len() * COLUMNS);
        for event in chunk {
            let (before, after) =
                (event.before.as_ref().map(Value::to_string), event.after.as_ref().map(Value::to_string));
            let link = Link {
                app_id: app.id,
                number: event.seq,
                at: act.at,
                actor: &act.actor,
                kind: event.kind.as_str(),
                subject: &event.subject,
                before: before.as_deref(),
                after: after.as_deref(),
            };
            let digest = chain::extend(head.as_ref(), &link);
            params.push(app.id.into());
            params.push(event.seq.into());
            params.push(act.at.into());
            params.push(act.actor.as_str().into());
            params.push(event.kind.as_str().into());
            params.push(event.subject.as_str().into());
            params.push(before.into());
            params.push(after.into());
            params.push((&digest).into());
            (app.head_digest, app.head_digest_seq) = (Some(digest), event.seq);
            head = Some(digest);
        }
        tx.exactly(chunk.len(), &sql, &params).await?;
    }
    Ok(())
}

/// Continues the chain over the events that an earlier program wrote without digests, up to `until`.
/// They stay without: a node that read one of them must find it unchanged.
async fn across_gap(tx: &mut Tx, app: &AppRow, until: i64) -> Result<Option<Digest>> {
    let from = app.head_digest_seq.max(until - 1 - GAP);
    let mut head = app.head_digest.filter(|_| from == app.head_digest_seq);
    let sql = "SELECT seq, happened_at, actor, kind, subject, before_json, after_json FROM events \
               WHERE app_id = $1 AND seq > $2 AND seq < $3 ORDER BY seq";
    for row in tx.query(sql, &[app.id.into(), from.into(), until.into()]).await? {
        let (actor, kind, subject) = (row.text(2)?, row.text(3)?, row.text(4)?);
        let (before, after) = (row.opt_text(5)?, row.opt_text(6)?);
        let link = Link {
            app_id: app.id,
            number: row.int(0)?,
            at: row.time(1)?,
            actor: &actor,
            kind: &kind,
            subject: &subject,
            before: before.as_deref(),
            after: after.as_deref(),
        };
        head = Some(chain::extend(head.as_ref(), &link));
    }
    Ok(head)
}

/// Returns whether an app's event with this number has this digest, or has none if `digest` is
/// `None`.
pub(crate) async fn is_at(tx: &mut Tx, app_id: i64, seq: i64, digest: Option<Digest>) -> Result<bool> {
    let row =
        tx.query_opt("SELECT digest FROM events WHERE app_id = $1 AND seq = $2", &[app_id.into(), seq.into()]).await?;
    match row {
        Some(row) => Ok(row.opt_digest(0)? == digest),
        None => Ok(false),
    }
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

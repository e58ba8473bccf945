//! The timers of live releases, with their next firing times.

use milepost_model::spec::{PinRole, TimerSpec};
use milepost_model::timer::LiveTimer;
use milepost_model::{AliasName, Timestamp, UnitKind, UnitName, UnitSpec};

use crate::db::{Row, Tx, Val, placeholders, typed_placeholders};
use crate::error::{CatalogError, Result};

#[derive(Debug, Clone)]
pub(crate) struct TimerRow {
    pub unit_id: i64,
    pub app_id: i64,
    pub cron: String,
    pub zone: String,
    pub function_id: i64,
    /// Resolved at each firing. Without an alias, `version_id` is used.
    pub alias: Option<AliasName>,
    pub version_id: Option<i64>,
    /// The selector that executions of the timer show.
    pub selector: String,
    pub next_at: Option<Timestamp>,
}

/// Rows per statement.
const CHUNK: usize = 200;
const COLUMNS: &str = "unit_id, app_id, cron, zone, function_id, alias, version_id, selector, next_at";

fn read(row: &Row) -> Result<TimerRow> {
    Ok(TimerRow {
        unit_id: row.int(0)?,
        app_id: row.int(1)?,
        cron: row.text(2)?,
        zone: row.text(3)?,
        function_id: row.int(4)?,
        alias: row.opt_parse(5)?,
        version_id: row.opt_int(6)?,
        selector: row.text(7)?,
        next_at: row.opt_time(8)?,
    })
}

pub(crate) async fn of_app(tx: &mut Tx, app_id: i64) -> Result<Vec<TimerRow>> {
    // Locked, so that a concurrent firing has stored the next time before it is read here.
    let sql = format!("SELECT {COLUMNS} FROM timers WHERE app_id = $1 ORDER BY unit_id{}", tx.for_update());
    tx.query(&sql, &[app_id.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn put(tx: &mut Tx, row: &TimerRow) -> Result<()> {
    let sql = format!(
        "INSERT INTO timers ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (unit_id) DO UPDATE SET \
         cron = excluded.cron, zone = excluded.zone, function_id = excluded.function_id, alias = excluded.alias, \
         version_id = excluded.version_id, selector = excluded.selector, next_at = excluded.next_at"
    );
    let params = [
        row.unit_id.into(),
        row.app_id.into(),
        row.cron.as_str().into(),
        row.zone.as_str().into(),
        row.function_id.into(),
        row.alias.as_ref().map(AliasName::as_str).into(),
        row.version_id.into(),
        row.selector.as_str().into(),
        row.next_at.into(),
    ];
    tx.exactly_one(&sql, &params).await
}

pub(crate) async fn delete(tx: &mut Tx, unit_id: i64) -> Result<()> {
    tx.exactly_one("DELETE FROM timers WHERE unit_id = $1", &[unit_id.into()]).await
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("DELETE FROM timers WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

/// A timer as an app version holds it.
pub(crate) struct Held {
    pub unit_id: i64,
    pub version_id: i64,
    pub spec: TimerSpec,
}

pub(crate) async fn held(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Vec<Held>> {
    let sql = "SELECT u.id, v.id, c.body FROM units u JOIN memberships m ON m.unit_id = u.id \
               AND m.from_seq = (SELECT max(from_seq) FROM memberships WHERE unit_id = u.id AND from_seq <= $2) \
               JOIN versions v ON v.id = m.version_id JOIN contents c ON c.id = v.content_id \
               WHERE u.app_id = $1 AND u.kind = 'timer' AND (m.until_seq IS NULL OR m.until_seq > $2) ORDER BY u.id";
    let mut found = Vec::new();
    for row in tx.query(sql, &[app_id.into(), seq.into()]).await? {
        let (unit_id, version_id) = (row.int(0)?, row.int(1)?);
        match UnitSpec::from_json(UnitKind::Timer, &row.text(2)?) {
            Ok(UnitSpec::Timer(spec)) => found.push(Held { unit_id, version_id, spec }),
            Ok(_) => return Err(CatalogError::inconsistent(format!("version {version_id} is not a timer"))),
            Err(error) => return Err(CatalogError::inconsistent(format!("version {version_id}: {error}"))),
        }
    }
    Ok(found)
}

/// Returns a function, and the version of it that an app version holds.
pub(crate) async fn function_at(
    tx: &mut Tx,
    app_id: i64,
    seq: i64,
    name: &UnitName,
) -> Result<Option<(i64, Option<i64>)>> {
    let sql = "SELECT u.id, (SELECT m.version_id FROM memberships m WHERE m.unit_id = u.id AND m.from_seq <= $2 \
               AND (m.until_seq IS NULL OR m.until_seq > $2)) \
               FROM units u WHERE u.app_id = $1 AND u.kind = 'function' AND u.name = $3";
    let row = tx.query_opt(sql, &[app_id.into(), seq.into(), name.as_str().into()]).await?;
    row.map(|row| Ok((row.int(0)?, row.opt_int(1)?))).transpose()
}

pub(crate) async fn pinned_target(tx: &mut Tx, version_id: i64) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT p.target_id, v.number FROM version_pins p JOIN versions v ON v.id = p.target_id \
               WHERE p.version_id = $1 AND p.role = $2";
    let row = tx.query_opt(sql, &[version_id.into(), PinRole::Target.as_str().into()]).await?;
    row.map(|row| Ok((row.int(0)?, row.int(1)?))).transpose()
}

/// Returns timers that are due, earliest first. Skips timers that another transaction is firing.
pub(crate) async fn due(tx: &mut Tx, now: Timestamp, limit: i64) -> Result<Vec<TimerRow>> {
    let sql = format!("SELECT {COLUMNS} FROM timers WHERE next_at <= $1 ORDER BY next_at LIMIT $2{}", tx.for_claim());
    tx.query(&sql, &[now.into(), limit.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn advance(tx: &mut Tx, timers: &[(i64, Option<Timestamp>)]) -> Result<()> {
    for chunk in timers.chunks(CHUNK) {
        let sql = format!(
            "UPDATE timers SET next_at = w.column2 FROM (VALUES {}) AS w WHERE timers.unit_id = w.column1",
            typed_placeholders(chunk.len(), &["BIGINT", "BIGINT"])
        );
        let params: Vec<Val> = chunk.iter().flat_map(|(id, next)| [(*id).into(), (*next).into()]).collect();
        tx.exactly(chunk.len(), &sql, &params).await?;
    }
    Ok(())
}

pub(crate) async fn earliest(tx: &mut Tx) -> Result<Option<Timestamp>> {
    tx.query_one("SELECT min(next_at) FROM timers WHERE next_at IS NOT NULL", &[]).await?.opt_time(0)
}

pub(crate) async fn names(tx: &mut Tx, unit_ids: &[i64]) -> Result<std::collections::HashMap<i64, String>> {
    let mut found = std::collections::HashMap::new();
    for chunk in unit_ids.chunks(CHUNK) {
        let sql = format!("SELECT id, name FROM units WHERE id IN ({})", placeholders(chunk.len(), 1));
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.insert(row.int(0)?, row.text(1)?);
        }
    }
    Ok(found)
}

/// Returns the timers of an app as the API shows them, by name. `seq` is the live app version.
pub(crate) async fn shown(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Vec<LiveTimer>> {
    let sql = "SELECT u.name, t.cron, t.zone, f.name, t.selector, v.number, t.next_at, h.number FROM timers t \
               JOIN units u ON u.id = t.unit_id JOIN units f ON f.id = t.function_id \
               JOIN memberships m ON m.unit_id = u.id \
               AND m.from_seq = (SELECT max(from_seq) FROM memberships WHERE unit_id = u.id AND from_seq <= $2) \
               JOIN versions h ON h.id = m.version_id \
               LEFT JOIN versions v ON v.id = t.version_id WHERE t.app_id = $1 ORDER BY u.name";
    let rows = tx.query(sql, &[app_id.into(), seq.into()]).await?;
    rows.iter()
        .map(|row| {
            Ok(LiveTimer {
                name: row.parse(0)?,
                number: row.int(7)?,
                cron: row.text(1)?,
                zone: row.text(2)?,
                function: row.parse(3)?,
                selector: row.parse(4)?,
                version: row.opt_int(5)?,
                next_at: row.opt_time(6)?,
            })
        })
        .collect()
}

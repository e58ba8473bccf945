use milepost_model::Timestamp;
use milepost_model::channel::{Brakes, ChannelName, Entry, PackageName};
use milepost_model::clock::from_millis;
use milepost_model::install::{Check, FailedUpgrade, InstallMode, InstallSettings, UpgradePlan};
use serde::Serialize;
use serde_json::Value;

use crate::db::{Row, Tx, Val};
use crate::error::{CatalogError, Result};

#[derive(Debug, Clone)]
pub(crate) struct InstallRow {
    pub app_id: i64,
    pub mode: InstallMode,
    pub package: PackageName,
    pub channel: Option<ChannelName>,
    pub place: String,
    pub entry: Entry,
    pub app_seq: i64,
    pub installed_at: Timestamp,
    pub installed_by: String,
    pub settings: InstallSettings,
    pub brakes: Brakes,
    pub failed: Option<FailedUpgrade>,
    /// Milepost pinned live, not a user: after a rollback, or until the version on trial has proven
    /// healthy.
    pub rollback_pin: bool,
    /// The app version that live falls back to during a trial; 0 if there is none.
    pub trial_seq: Option<i64>,
    pub serial: u64,
    pub last_check: Option<Check>,
    pub plan: Option<UpgradePlan>,
    pub revision: i64,
    pub next_check_at: Option<Timestamp>,
    pub lease: Option<String>,
    pub lease_until: Option<Timestamp>,
    pub confined: bool,
}

/// All columns, in the order in which [`read`] reads them and [`values`] writes them.
const COLUMNS: [&str; 22] = [
    "app_id",
    "mode",
    "package",
    "channel",
    "place",
    "entry",
    "app_seq",
    "installed_at",
    "installed_by",
    "settings",
    "brakes",
    "failed",
    "rollback_pin",
    "trial_seq",
    "serial",
    "last_check",
    "plan",
    "revision",
    "next_check_at",
    "lease",
    "lease_until",
    "confined",
];
/// Columns that never change, and columns that the lease holder writes without the app's lock.
const NOT_SAVED: [&str; 7] = ["app_id", "package", "channel", "last_check", "lease", "lease_until", "confined"];

fn read(row: &Row) -> Result<InstallRow> {
    let mut columns = 0..COLUMNS.len();
    let mut next = || columns.next().unwrap_or(COLUMNS.len());
    Ok(InstallRow {
        app_id: row.int(next())?,
        mode: row.word(next(), "installs.mode")?,
        package: row.parse(next())?,
        channel: row.opt_parse(next())?,
        place: row.text(next())?,
        entry: json(row, next())?,
        app_seq: row.int(next())?,
        installed_at: row.time(next())?,
        installed_by: row.text(next())?,
        settings: json(row, next())?,
        brakes: json(row, next())?,
        failed: row.opt_json(next())?,
        rollback_pin: row.bool(next())?,
        trial_seq: row.opt_int(next())?,
        serial: u64::try_from(row.int(next())?).unwrap_or(0),
        last_check: row.opt_json(next())?,
        plan: row.opt_json(next())?,
        revision: row.int(next())?,
        next_check_at: row.opt_time(next())?,
        lease: row.opt_text(next())?,
        lease_until: row.opt_time(next())?,
        confined: row.bool(next())?,
    })
}

fn values(row: &InstallRow) -> Result<[Val; COLUMNS.len()]> {
    Ok([
        row.app_id.into(),
        row.mode.as_str().into(),
        row.package.as_str().into(),
        row.channel.as_ref().map(ChannelName::as_str).into(),
        row.place.as_str().into(),
        text(&row.entry)?,
        row.app_seq.into(),
        row.installed_at.into(),
        row.installed_by.as_str().into(),
        text(&row.settings)?,
        text(&row.brakes)?,
        opt_text(row.failed.as_ref())?,
        row.rollback_pin.into(),
        row.trial_seq.into(),
        number(row.serial),
        opt_text(row.last_check.as_ref())?,
        opt_text(row.plan.as_ref())?,
        row.revision.into(),
        row.next_check_at.into(),
        row.lease.as_deref().into(),
        row.lease_until.into(),
        row.confined.into(),
    ])
}

fn json<T: serde::de::DeserializeOwned>(row: &Row, index: usize) -> Result<T> {
    row.opt_json(index)?.ok_or_else(|| CatalogError::inconsistent(format!("column {index} is empty")))
}

fn text(value: &impl Serialize) -> Result<Val> {
    let text = serde_json::to_string(value).map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    Ok(text.into())
}

fn opt_text(value: Option<&impl Serialize>) -> Result<Val> {
    value.map_or(Ok(Val::Null), text)
}

fn number(serial: u64) -> Val {
    i64::try_from(serial).unwrap_or(i64::MAX).into()
}

pub(crate) async fn find(tx: &mut Tx, app_id: i64) -> Result<Option<InstallRow>> {
    let sql = format!("SELECT {} FROM installs WHERE app_id = $1", COLUMNS.join(", "));
    tx.query_opt(&sql, &[app_id.into()]).await?.as_ref().map(read).transpose()
}

/// Like [`find`], and locks the row until the transaction ends. Lock order: the app's row before
/// this one.
pub(crate) async fn lock(tx: &mut Tx, app_id: i64) -> Result<Option<InstallRow>> {
    let sql = format!("SELECT {} FROM installs WHERE app_id = $1{}", COLUMNS.join(", "), tx.for_update());
    tx.query_opt(&sql, &[app_id.into()]).await?.as_ref().map(read).transpose()
}

/// Returns apps by name, after `after`, each with its install.
pub(crate) async fn list(tx: &mut Tx, after: Option<&str>, limit: i64) -> Result<Vec<(String, InstallRow)>> {
    let columns = COLUMNS.map(|column| format!("i.{column}")).join(", ");
    let sql = format!(
        "SELECT {columns}, a.name FROM installs i JOIN apps a ON a.id = i.app_id \
         WHERE a.deleted_at IS NULL AND a.name > $1 ORDER BY a.name LIMIT $2"
    );
    let rows = tx.query(&sql, &[after.unwrap_or("").into(), limit.into()]).await?;
    rows.iter().map(|row| Ok((row.text(COLUMNS.len())?, read(row)?))).collect()
}

pub(crate) async fn insert(tx: &mut Tx, row: &InstallRow) -> Result<()> {
    let places: Vec<String> = (1..=COLUMNS.len()).map(|number| format!("${number}")).collect();
    let sql = format!("INSERT INTO installs ({}) VALUES ({})", COLUMNS.join(", "), places.join(", "));
    tx.exactly_one(&sql, &values(row)?).await
}

/// Writes back the columns that change under the app's lock: all but the lease and the results of
/// checks.
pub(crate) async fn save(tx: &mut Tx, row: &mut InstallRow) -> Result<()> {
    row.revision += 1;
    let (mut sets, mut params) = (Vec::new(), vec![row.app_id.into()]);
    for (column, value) in COLUMNS.into_iter().zip(values(row)?) {
        if !NOT_SAVED.contains(&column) {
            params.push(value);
            sets.push(format!("{column} = ${}", params.len()));
        }
    }
    let sql = format!("UPDATE installs SET {} WHERE app_id = $1", sets.join(", "));
    tx.exactly_one(&sql, &params).await
}

pub(crate) async fn delete(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("DELETE FROM install_versions WHERE app_id = $1", &[app_id.into()]).await?;
    tx.execute("DELETE FROM installs WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

/// Time limits for finding due installs. A time further ahead than any that is ever set comes from
/// a clock that was wrong. It is ignored, so that the install is still checked after the clock is
/// corrected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub now: Timestamp,
    /// When a lease that is taken now ends.
    pub until: Timestamp,
    no_lease_after: Timestamp,
    no_check_after: Timestamp,
}

/// The longest poll interval is a week, with a jitter of a tenth.
const LONGEST_WAIT_MS: i64 = 8 * 24 * 3_600_000;

impl Moments {
    pub(crate) fn at(now: Timestamp, lease_ms: i64) -> Self {
        let ahead = |ms: i64| from_millis(now.as_millisecond().saturating_add(ms));
        Self {
            now,
            until: ahead(lease_ms),
            no_lease_after: ahead(lease_ms.saturating_mul(2)),
            no_check_after: ahead(LONGEST_WAIT_MS),
        }
    }
}

/// Leases installs that are due and not leased, earliest first, and returns their apps. The lease
/// lasts until `moments.until`. Skips installs that another transaction is taking.
pub(crate) async fn take_due(tx: &mut Tx, holder: &str, moments: Moments, limit: i64) -> Result<Vec<i64>> {
    let sql = format!(
        "SELECT app_id FROM installs WHERE (next_check_at <= $1 OR next_check_at > $2) \
         AND (lease_until IS NULL OR lease_until <= $1 OR lease_until > $3) \
         ORDER BY next_check_at LIMIT $4{}",
        tx.for_claim()
    );
    let Moments { now, until, no_lease_after, no_check_after } = moments;
    let params = [now.into(), no_check_after.into(), no_lease_after.into(), limit.into()];
    let ids = tx.query(&sql, &params).await?;
    let ids = ids.iter().map(|row| row.int(0)).collect::<Result<Vec<i64>>>()?;
    for id in &ids {
        tx.exactly_one(
            "UPDATE installs SET lease = $2, lease_until = $3 WHERE app_id = $1",
            &[(*id).into(), format!("{holder}/{id}").into(), until.into()],
        )
        .await?;
    }
    Ok(ids)
}

/// Leases one install, unless another holder has it. Returns whether it was taken.
pub(crate) async fn take(tx: &mut Tx, app_id: i64, holder: &str, moments: Moments) -> Result<bool> {
    let sql = "UPDATE installs SET lease = $2, lease_until = $4 \
               WHERE app_id = $1 AND (lease_until IS NULL OR lease_until <= $3 OR lease_until > $5)";
    let Moments { now, until, no_lease_after, .. } = moments;
    let token = format!("{holder}/{app_id}");
    let params = [app_id.into(), token.into(), now.into(), until.into(), no_lease_after.into()];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Extends a lease that the holder still has. An expired lease cannot be renewed, even if no other
/// holder took it since.
pub(crate) async fn renew(tx: &mut Tx, app_id: i64, lease: &str, now: Timestamp, until: Timestamp) -> Result<bool> {
    let sql = "UPDATE installs SET lease_until = $4 WHERE app_id = $1 AND lease = $2 AND lease_until > $3";
    Ok(tx.execute(sql, &[app_id.into(), lease.into(), now.into(), until.into()]).await? == 1)
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct CheckRecord {
    pub check: Option<Check>,
    pub plan: Option<UpgradePlan>,
    pub serial: u64,
    pub next_check_at: Option<Timestamp>,
    /// The revision of the install that was checked.
    pub revision: i64,
}

/// Ends a lease and records its holder's result. If a user changed the install meanwhile, the
/// user's plan and time stay, so that it is checked again. The serial stays too: it belongs to
/// another key if the user changed the key.
pub(crate) async fn give_back(tx: &mut Tx, app_id: i64, lease: &str, record: &CheckRecord) -> Result<bool> {
    let sql = "UPDATE installs SET lease = NULL, lease_until = NULL, last_check = COALESCE($3, last_check), \
               plan = CASE WHEN revision = $7 THEN $4 ELSE plan END, \
               serial = CASE WHEN revision = $7 AND serial < $5 THEN $5 ELSE serial END, \
               next_check_at = CASE WHEN revision = $7 THEN $6 ELSE next_check_at END \
               WHERE app_id = $1 AND lease = $2";
    let params = [
        app_id.into(),
        lease.into(),
        opt_text(record.check.as_ref())?,
        opt_text(record.plan.as_ref())?,
        number(record.serial),
        record.next_check_at.into(),
        record.revision.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Ends a lease without recording anything.
pub(crate) async fn let_go(tx: &mut Tx, app_id: i64, lease: &str) -> Result<()> {
    let sql = "UPDATE installs SET lease = NULL, lease_until = NULL WHERE app_id = $1 AND lease = $2";
    tx.execute(sql, &[app_id.into(), lease.into()]).await?;
    Ok(())
}

/// Ends all leases. For a server that runs alone: previous holders are gone.
pub(crate) async fn end_leases(tx: &mut Tx) -> Result<()> {
    tx.execute("UPDATE installs SET lease = NULL, lease_until = NULL WHERE lease IS NOT NULL", &[]).await?;
    Ok(())
}

pub(crate) async fn make_due(tx: &mut Tx, now: Timestamp) -> Result<()> {
    tx.execute("UPDATE installs SET next_check_at = $1 WHERE next_check_at > $1", &[now.into()]).await?;
    Ok(())
}

pub(crate) async fn earliest(tx: &mut Tx, moments: Moments) -> Result<Option<Timestamp>> {
    let Moments { now, no_lease_after, no_check_after, .. } = moments;
    let sql = "SELECT min(CASE WHEN next_check_at <= $1 AND (lease_until IS NULL OR lease_until > $2) THEN next_check_at \
               WHEN next_check_at <= $1 AND lease_until > next_check_at THEN lease_until \
               WHEN next_check_at <= $1 THEN next_check_at ELSE NULL END) \
               FROM installs WHERE next_check_at IS NOT NULL";
    let usual = tx.query_one(sql, &[no_check_after.into(), no_lease_after.into()]).await?.opt_time(0)?;
    let sql = "SELECT app_id FROM installs WHERE next_check_at > $1 \
               AND (lease_until IS NULL OR lease_until <= $2 OR lease_until > $3) LIMIT 1";
    let astray = tx.query_opt(sql, &[no_check_after.into(), now.into(), no_lease_after.into()]).await?;
    Ok(if astray.is_some() { Some(usual.map_or(now, |usual| usual.min(now))) } else { usual })
}

/// Returns the published version that an app version holds, and the first app version that held it.
pub(crate) async fn version_at(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Option<(i64, Entry)>> {
    let sql =
        "SELECT app_seq, entry FROM install_versions WHERE app_id = $1 AND app_seq <= $2 ORDER BY app_seq DESC LIMIT 1";
    let row = tx.query_opt(sql, &[app_id.into(), seq.into()]).await?;
    row.map(|row| Ok((row.int(0)?, json(&row, 1)?))).transpose()
}

pub(crate) async fn put_version(
    tx: &mut Tx,
    app_id: i64,
    seq: i64,
    entry: &Entry,
    config: Option<&Value>,
) -> Result<()> {
    let sql = "INSERT INTO install_versions (app_id, app_seq, entry, config) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (app_id, app_seq) DO UPDATE SET entry = excluded.entry, config = excluded.config";
    tx.exactly_one(sql, &[app_id.into(), seq.into(), text(entry)?, opt_text(config)?]).await
}

/// Returns the author's configuration in the published version that an app version holds; `None`
/// for versions from before it was kept.
pub(crate) async fn config_at(tx: &mut Tx, app_id: i64, seq: i64) -> Result<Option<Value>> {
    let sql = "SELECT config FROM install_versions WHERE app_id = $1 AND app_seq <= $2 ORDER BY app_seq DESC LIMIT 1";
    let row = tx.query_opt(sql, &[app_id.into(), seq.into()]).await?;
    row.map_or(Ok(None), |row| row.opt_json(0))
}

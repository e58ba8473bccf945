//! Identifiers that the v1 API assigns: ids of functions and environments, numbers of published
//! versions.

pub(crate) mod counts;
pub(crate) mod jobs;

use milepost_model::{AliasName, AppName, Timestamp, UnitKind, UnitName};
use serde_json::Value;

use crate::db::{Row, Tx, Val};
use crate::error::Result;
use crate::ops::qinling::delete::V1Thing;

/// A function or environment as v1 shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Unit {
    /// A UUID.
    pub id: String,
    pub app: AppName,
    pub kind: UnitKind,
    pub name: UnitName,
    /// The number that was published last; 0 before the first. Not reused when that version is
    /// deleted.
    pub last_number: i64,
    /// The highest published number that was not deleted; 0 if there is none.
    pub latest: i64,
    /// Executions of the newest code that v1, jobs and webhooks started.
    pub executions: i64,
    /// Fields of v1 that the ledger does not model.
    pub facts: Value,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
}

/// A published version.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Version {
    /// A UUID.
    pub id: String,
    /// The number in v1.
    pub number: i64,
    /// The number of the version in the ledger.
    pub version: i64,
    pub version_id: i64,
    pub description: String,
    /// Executions of this version that v1, jobs and webhooks started.
    pub executions: i64,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
}

/// An alias. v1 finds it by its name alone.
#[derive(Debug, Clone, PartialEq)]
pub struct V1Alias {
    /// A UUID; empty for an alias that v1 did not make.
    pub id: String,
    pub name: AliasName,
    pub function: UnitName,
    /// The number of the version in the ledger.
    pub version: i64,
    /// The number under which that version is published, if it is.
    pub number: Option<i64>,
    /// The alias follows the function's newest code.
    pub follows: bool,
    pub description: String,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
}

pub(crate) struct V1UnitRow {
    pub unit_id: i64,
    pub unit: V1Unit,
}

const UNITS: &str = "SELECT i.unit_id, i.id, i.kind, u.name, i.last_number, i.executions, i.facts, i.created_at, i.updated_at, a.name, \
                     (SELECT max(p.number) FROM v1_versions p JOIN versions v ON v.id = p.version_id \
                     WHERE p.unit_id = i.unit_id AND v.state = 'active') \
                     FROM v1_ids i JOIN units u ON u.id = i.unit_id JOIN apps a ON a.id = i.app_id";

fn read_unit(row: &Row) -> Result<V1UnitRow> {
    let unit = V1Unit {
        id: row.text(1)?,
        app: row.parse(9)?,
        kind: row.word(2, "v1_ids.kind")?,
        name: row.parse(3)?,
        last_number: row.int(4)?,
        latest: row.opt_int(10)?.unwrap_or(0),
        executions: row.int(5)?,
        facts: row.opt_json(6)?.unwrap_or_default(),
        created_at: row.time(7)?,
        updated_at: row.opt_time(8)?,
    };
    Ok(V1UnitRow { unit_id: row.int(0)?, unit })
}

/// Finds a unit that the app has now.
pub(crate) async fn find_unit(tx: &mut Tx, app_id: i64, id: &str) -> Result<Option<V1UnitRow>> {
    let sql = format!("{UNITS} WHERE i.id = $1 AND i.app_id = $2 AND u.current_version_id IS NOT NULL");
    tx.query_opt(&sql, &[id.into(), app_id.into()]).await?.as_ref().map(read_unit).transpose()
}

pub(crate) async fn of_unit(tx: &mut Tx, unit_id: i64) -> Result<Option<V1UnitRow>> {
    tx.query_opt(&format!("{UNITS} WHERE i.unit_id = $1"), &[unit_id.into()]).await?.as_ref().map(read_unit).transpose()
}

pub(crate) async fn list_units(tx: &mut Tx, app_id: i64, kind: UnitKind) -> Result<Vec<V1UnitRow>> {
    let sql = format!(
        "{UNITS} WHERE i.app_id = $1 AND i.kind = $2 AND u.current_version_id IS NOT NULL ORDER BY i.created_at, i.id"
    );
    tx.query(&sql, &[app_id.into(), kind.as_str().into()]).await?.iter().map(read_unit).collect()
}

/// Returns units of the kind that have no v1 id yet: their ids, and when the app got them.
pub(crate) async fn unseen(tx: &mut Tx, app_id: i64, kind: UnitKind) -> Result<Vec<(i64, Timestamp)>> {
    let sql = "SELECT u.id, (SELECT min(v.created_at) FROM versions v WHERE v.unit_id = u.id AND v.state = 'active') FROM units u \
               WHERE u.app_id = $1 AND u.kind = $2 AND u.current_version_id IS NOT NULL \
               AND NOT EXISTS (SELECT 1 FROM v1_ids i WHERE i.unit_id = u.id) ORDER BY u.id";
    let rows = tx.query(sql, &[app_id.into(), kind.as_str().into()]).await?;
    rows.iter().map(|row| Ok((row.int(0)?, row.opt_time(1)?.unwrap_or(Timestamp::UNIX_EPOCH)))).collect()
}

/// Finds the unit with this id in any app.
pub(crate) async fn find_anywhere(tx: &mut Tx, id: &str) -> Result<Option<V1UnitRow>> {
    let sql = format!("{UNITS} WHERE i.id = $1 AND u.current_version_id IS NOT NULL AND a.deleted_at IS NULL");
    tx.query_opt(&sql, &[id.into()]).await?.as_ref().map(read_unit).transpose()
}

/// Returns units of all apps whose facts contain this fragment of JSON.
pub(crate) async fn with_fact(tx: &mut Tx, kind: UnitKind, fact: &str, limit: i64) -> Result<Vec<V1UnitRow>> {
    let sql = format!(
        "{UNITS} WHERE i.kind = $1 AND i.facts LIKE $2 AND u.current_version_id IS NOT NULL AND a.deleted_at IS NULL \
         ORDER BY i.created_at, i.id LIMIT {limit}"
    );
    tx.query(&sql, &[kind.as_str().into(), format!("%{fact}%").into()]).await?.iter().map(read_unit).collect()
}

/// Reports whether a runtime exists in any app, and locks it until the transaction ends.
pub(crate) async fn hold_runtime(tx: &mut Tx, id: &str) -> Result<bool> {
    let sql = format!("SELECT id FROM v1_ids WHERE id = $1 AND kind = 'environment'{}", tx.for_update());
    Ok(tx.query_opt(&sql, &[id.into()]).await?.is_some())
}

/// Returns functions of the app with aliases that follow their newest code.
pub(crate) async fn with_followers(tx: &mut Tx, app_id: i64) -> Result<Vec<V1UnitRow>> {
    let sql = format!("{UNITS} WHERE i.app_id = $1 AND i.kind = 'function' AND i.facts LIKE '%\"following\":[\"%'");
    tx.query(&sql, &[app_id.into()]).await?.iter().map(read_unit).collect()
}

/// Returns every v1 number in the app, or of one of its functions: the function, the number in the
/// ledger, the number in v1. Includes deleted versions, which executions still refer to.
pub(crate) async fn numbers(tx: &mut Tx, app_id: i64, of: Option<&UnitName>) -> Result<Vec<(UnitName, i64, i64)>> {
    let sql = "SELECT u.name, v.number, p.number FROM v1_versions p JOIN versions v ON v.id = p.version_id \
               JOIN units u ON u.id = p.unit_id WHERE u.app_id = $1 AND ($2 = '' OR u.name = $2)";
    tx.query(sql, &[app_id.into(), of.map_or("", UnitName::as_str).into()])
        .await?
        .iter()
        .map(|row| Ok((row.parse(0)?, row.int(1)?, row.int(2)?)))
        .collect()
}

pub(crate) async fn insert_unit(
    tx: &mut Tx,
    app_id: i64,
    unit_id: i64,
    kind: UnitKind,
    id: &str,
    at: Timestamp,
) -> Result<()> {
    let sql = "INSERT INTO v1_ids (id, app_id, unit_id, kind, last_number, executions, facts, created_at) \
               VALUES ($1, $2, $3, $4, 0, 0, '{}', $5) ON CONFLICT (unit_id) DO NOTHING";
    tx.execute(sql, &[id.into(), app_id.into(), unit_id.into(), kind.as_str().into(), at.into()]).await?;
    Ok(())
}

pub(crate) async fn save_unit(tx: &mut Tx, row: &V1UnitRow) -> Result<()> {
    let sql = "UPDATE v1_ids SET last_number = $2, facts = $3, updated_at = $4 WHERE unit_id = $1";
    let unit = &row.unit;
    let params = [row.unit_id.into(), unit.last_number.into(), unit.facts.to_string().into(), unit.updated_at.into()];
    tx.exactly_one(sql, &params).await
}

/// Removes a unit that leaves the app. A later unit with its name is a different thing to v1.
pub(crate) async fn forget_unit(tx: &mut Tx, unit_id: i64) -> Result<()> {
    let id: [Val; 1] = [unit_id.into()];
    tx.execute("DELETE FROM v1_versions WHERE unit_id = $1", &id).await?;
    tx.execute("DELETE FROM v1_aliases WHERE unit_id = $1", &id).await?;
    tx.execute("DELETE FROM v1_ids WHERE unit_id = $1", &id).await?;
    Ok(())
}

pub(crate) async fn forget_app(tx: &mut Tx, app_id: i64) -> Result<()> {
    let id: [Val; 1] = [app_id.into()];
    let units = "unit_id IN (SELECT id FROM units WHERE app_id = $1)";
    tx.execute(&format!("DELETE FROM v1_versions WHERE {units}"), &id).await?;
    tx.execute(&format!("DELETE FROM v1_aliases WHERE {units}"), &id).await?;
    tx.execute("DELETE FROM v1_ids WHERE app_id = $1", &id).await?;
    Ok(())
}

/// Returns the app that an execution, a job or a webhook belongs to.
pub(crate) async fn home(tx: &mut Tx, thing: V1Thing, id: &str) -> Result<Option<AppName>> {
    let table = match thing {
        V1Thing::Execution => "executions",
        V1Thing::Job => "jobs",
        V1Thing::Webhook => "webhooks",
    };
    let sql =
        format!("SELECT a.name FROM {table} t JOIN apps a ON a.id = t.app_id WHERE t.id = $1 AND a.deleted_at IS NULL");
    tx.query_opt(&sql, &[id.into()]).await?.map(|row| row.parse(0)).transpose()
}

const VERSIONS: &str = "SELECT p.id, p.number, v.number, v.id, v.description, p.executions, p.created_at, p.updated_at \
                        FROM v1_versions p JOIN versions v ON v.id = p.version_id AND v.state = 'active'";

fn read_version(row: &Row) -> Result<V1Version> {
    Ok(V1Version {
        id: row.text(0)?,
        number: row.int(1)?,
        version: row.int(2)?,
        version_id: row.int(3)?,
        description: row.text(4)?,
        executions: row.int(5)?,
        created_at: row.time(6)?,
        updated_at: row.opt_time(7)?,
    })
}

/// Sorted by number.
pub(crate) async fn list_versions(tx: &mut Tx, unit_id: i64) -> Result<Vec<V1Version>> {
    let sql = format!("{VERSIONS} WHERE p.unit_id = $1 ORDER BY p.number");
    tx.query(&sql, &[unit_id.into()]).await?.iter().map(read_version).collect()
}

pub(crate) async fn find_version(tx: &mut Tx, unit_id: i64, number: i64) -> Result<Option<V1Version>> {
    let sql = format!("{VERSIONS} WHERE p.unit_id = $1 AND p.number = $2");
    tx.query_opt(&sql, &[unit_id.into(), number.into()]).await?.as_ref().map(read_version).transpose()
}

pub(crate) async fn find_version_by_id(tx: &mut Tx, unit_id: i64, id: &str) -> Result<Option<V1Version>> {
    let sql = format!("{VERSIONS} WHERE p.unit_id = $1 AND p.id = $2");
    tx.query_opt(&sql, &[unit_id.into(), id.into()]).await?.as_ref().map(read_version).transpose()
}

pub(crate) async fn of_version(tx: &mut Tx, version_id: i64) -> Result<Option<V1Version>> {
    let sql = format!("{VERSIONS} WHERE p.version_id = $1");
    tx.query_opt(&sql, &[version_id.into()]).await?.as_ref().map(read_version).transpose()
}

pub(crate) async fn insert_version(tx: &mut Tx, unit_id: i64, version: &V1Version) -> Result<()> {
    let sql = "INSERT INTO v1_versions (unit_id, number, id, version_id, executions, created_at) VALUES ($1, $2, $3, $4, 0, $5)";
    let params = [
        unit_id.into(),
        version.number.into(),
        version.id.as_str().into(),
        version.version_id.into(),
        version.created_at.into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn touch_version(tx: &mut Tx, version_id: i64, at: Timestamp) -> Result<()> {
    tx.exactly_one("UPDATE v1_versions SET updated_at = $2 WHERE version_id = $1", &[version_id.into(), at.into()])
        .await
}

const ALIASES: &str = "SELECT x.id, a.name, u.name, v.number, p.number, x.description, x.created_at, x.updated_at, a.moved_at, i.facts \
                       FROM aliases a JOIN units u ON u.id = a.unit_id JOIN versions v ON v.id = a.version_id \
                       LEFT JOIN v1_versions p ON p.version_id = v.id \
                       LEFT JOIN v1_ids i ON i.unit_id = u.id \
                       LEFT JOIN v1_aliases x ON x.unit_id = a.unit_id AND x.name = a.name \
                       WHERE u.app_id = $1 AND u.current_version_id IS NOT NULL";

fn read_alias(row: &Row) -> Result<V1Alias> {
    let name: AliasName = row.parse(1)?;
    let facts = row.opt_json(9)?.unwrap_or_default();
    Ok(V1Alias {
        id: row.opt_text(0)?.unwrap_or_default(),
        follows: following(&facts).contains(&name),
        name,
        function: row.parse(2)?,
        version: row.int(3)?,
        number: row.opt_int(4)?,
        description: row.opt_text(5)?.unwrap_or_default(),
        created_at: match row.opt_time(6)? {
            Some(at) => at,
            None => row.time(8)?,
        },
        updated_at: row.opt_time(7)?,
    })
}

/// Returns the aliases of a function that follow its newest code.
pub(crate) fn following(facts: &Value) -> Vec<AliasName> {
    let names = facts["following"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(|name| name.as_str()?.parse().ok()).collect()
}

/// Sorted by name. Functions may share an alias name that v1 did not assign: aliases made by v1
/// come first.
pub(crate) async fn list_aliases(tx: &mut Tx, app_id: i64, name: Option<&AliasName>) -> Result<Vec<V1Alias>> {
    let order = "ORDER BY a.name, CASE WHEN x.id IS NULL THEN 1 ELSE 0 END, u.name";
    let rows = match name {
        Some(name) => {
            let sql = format!("{ALIASES} AND a.name = $2 {order}");
            tx.query(&sql, &[app_id.into(), name.as_str().into()]).await?
        }
        None => tx.query(&format!("{ALIASES} {order}"), &[app_id.into()]).await?,
    };
    rows.iter().map(read_alias).collect()
}

pub(crate) async fn put_alias(tx: &mut Tx, unit_id: i64, alias: &V1Alias) -> Result<()> {
    let sql = "INSERT INTO v1_aliases (unit_id, name, id, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (unit_id, name) DO UPDATE SET id = excluded.id, description = excluded.description, \
               created_at = excluded.created_at, updated_at = excluded.updated_at";
    let params = [
        unit_id.into(),
        alias.name.as_str().into(),
        alias.id.as_str().into(),
        alias.description.as_str().into(),
        alias.created_at.into(),
        alias.updated_at.into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn delete_alias(tx: &mut Tx, unit_id: i64, name: &AliasName) -> Result<()> {
    let sql = "DELETE FROM v1_aliases WHERE unit_id = $1 AND name = $2";
    tx.execute(sql, &[unit_id.into(), name.as_str().into()]).await?;
    Ok(())
}

use std::collections::BTreeSet;

use milepost_model::change::UnitKey;
use milepost_model::refusal::View;
use milepost_model::spec::BUILT_IN_ENVIRONMENTS;
use milepost_model::suggest::or_list;
use milepost_model::{Code, Next, Refusal, UnitKind, UnitName};

use crate::db::{Row, Tx};
use crate::error::Result;
use crate::tables::apps::AppRow;

#[derive(Debug, Clone)]
pub(crate) struct UnitRow {
    pub id: i64,
    pub kind: UnitKind,
    pub name: UnitName,
    pub last_number: i64,
    pub current_version_id: Option<i64>,
    /// The deployment that declares it; `None` once the unit is removed. A secret may have one
    /// before it is first set.
    pub deployment_id: Option<i64>,
    /// The deployment that declared it when it was removed.
    pub last_deployment_id: Option<i64>,
}

/// Filter for the units of an app.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Only<'a> {
    pub kind: Option<UnitKind>,
    /// The text id of a deployment.
    pub deployment: Option<&'a str>,
}

impl From<UnitKind> for Only<'_> {
    fn from(kind: UnitKind) -> Self {
        Self { kind: Some(kind), deployment: None }
    }
}

const COLUMNS: &str = "id, kind, name, last_number, current_version_id, deployment_id, last_deployment_id";

fn read(row: &Row) -> Result<UnitRow> {
    Ok(UnitRow {
        id: row.int(0)?,
        kind: row.word(1, "units.kind")?,
        name: row.parse(2)?,
        last_number: row.int(3)?,
        current_version_id: row.opt_int(4)?,
        deployment_id: row.opt_int(5)?,
        last_deployment_id: row.opt_int(6)?,
    })
}

impl UnitRow {
    pub(crate) fn key(&self) -> UnitKey {
        UnitKey { kind: self.kind, name: self.name.clone() }
    }
}

/// Also finds removed units, which keep their version numbering.
pub(crate) async fn find(tx: &mut Tx, app_id: i64, kind: UnitKind, name: &UnitName) -> Result<Option<UnitRow>> {
    let sql = format!("SELECT {COLUMNS} FROM units WHERE app_id = $1 AND kind = $2 AND name = $3");
    let params = [app_id.into(), kind.as_str().into(), name.as_str().into()];
    tx.query_opt(&sql, &params).await?.as_ref().map(read).transpose()
}

pub(crate) async fn find_by_id(tx: &mut Tx, id: i64) -> Result<UnitRow> {
    let sql = format!("SELECT {COLUMNS} FROM units WHERE id = $1");
    read(&tx.query_one(&sql, &[id.into()]).await?)
}

/// Returns a unit that the app has now.
pub(crate) async fn get_present(tx: &mut Tx, app: &AppRow, kind: UnitKind, name: &UnitName) -> Result<UnitRow> {
    match find(tx, app.id, kind, name).await? {
        Some(unit) if unit.current_version_id.is_some() => Ok(unit),
        _ => Err(unknown(tx, app, kind, name).await?.into()),
    }
}

pub(crate) async fn unknown(tx: &mut Tx, app: &AppRow, kind: UnitKind, name: &UnitName) -> Result<Refusal> {
    let present = list_present(tx, app.id, kind.into(), None, 500).await?;
    let names: Vec<String> = present.into_iter().map(|unit| unit.name.to_string()).collect();
    let message = if kind == UnitKind::Config {
        format!("app `{}` has no configuration", app.name)
    } else {
        format!("app `{}` has no {kind} `{name}`", app.name)
    };
    let otherwise = match kind {
        UnitKind::Config => Next::SetConfig,
        UnitKind::Secret => Next::SetSecret { name: name.to_string() },
        kind => Next::See { view: View::Units { kind } },
    };
    // The name of a route is its methods and its path, but users often type only the path.
    let by_path: Vec<String> = match kind {
        UnitKind::Route => names.iter().filter(|known| known.ends_with(&format!(" {name}"))).cloned().collect(),
        _ => Vec::new(),
    };
    if !by_path.is_empty() {
        return Ok(Refusal::new(Code::UnitNotFound, message).next(Next::DidYouMean { names: by_path }));
    }
    Ok(Refusal::not_found(Code::UnitNotFound, message, name.as_str(), &names, [otherwise]))
}

/// Rejects an unknown environment. Suggests the built-in ones too: they can be used before the app
/// has them.
pub(crate) async fn unknown_environment(tx: &mut Tx, app: &AppRow, name: &UnitName) -> Result<Refusal> {
    let present = list_present(tx, app.id, UnitKind::Environment.into(), None, 500).await?;
    let built_in = BUILT_IN_ENVIRONMENTS.map(|(name, _)| name.to_owned());
    let names: BTreeSet<String> = present.into_iter().map(|unit| unit.name.to_string()).chain(built_in).collect();
    let names: Vec<String> = names.into_iter().collect();
    let message = format!("app `{}` has no environment `{name}`", app.name);
    let otherwise = [Next::Correct { how: format!("use {}", or_list(&names)) }, Next::CreateEnvironment];
    Ok(Refusal::not_found(Code::UnitNotFound, message, name.as_str(), &names, otherwise))
}

pub(crate) async fn list_present(
    tx: &mut Tx,
    app_id: i64,
    only: Only<'_>,
    after: Option<&UnitKey>,
    limit: i64,
) -> Result<Vec<UnitRow>> {
    let (after_kind, after_name) = after.map_or(("", ""), |key| (key.kind.as_str(), key.name.as_str()));
    let kind = only.kind.map_or("", UnitKind::as_str);
    let deployment = only.deployment.unwrap_or("");
    let sql = format!(
        "SELECT {COLUMNS} FROM units WHERE app_id = $1 AND ($2 = '' OR kind = $2) AND current_version_id IS NOT NULL \
         AND (kind > $3 OR (kind = $3 AND name > $4)) \
         AND ($6 = '' OR deployment_id = (SELECT d.id FROM deployments d WHERE d.app_id = $1 AND d.key = $6)) \
         ORDER BY kind, name LIMIT $5"
    );
    let params = [app_id.into(), kind.into(), after_kind.into(), after_name.into(), limit.into(), deployment.into()];
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

/// Returns units that a deployment declares but the app does not have yet.
pub(crate) async fn list_claimed_ahead(tx: &mut Tx, app_id: i64, deployment_id: i64) -> Result<Vec<UnitRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM units WHERE app_id = $1 AND deployment_id = $2 AND current_version_id IS NULL \
         ORDER BY kind, name"
    );
    tx.query(&sql, &[app_id.into(), deployment_id.into()]).await?.iter().map(read).collect()
}

/// Returns removed units that a deployment declared when they were removed.
pub(crate) async fn list_removed_of(tx: &mut Tx, app_id: i64, deployment_id: i64) -> Result<Vec<UnitRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM units WHERE app_id = $1 AND last_deployment_id = $2 AND current_version_id IS NULL \
         ORDER BY kind, name"
    );
    tx.query(&sql, &[app_id.into(), deployment_id.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn count_present(tx: &mut Tx, app_id: i64, kind: UnitKind) -> Result<i64> {
    let sql = "SELECT count(*) FROM units WHERE app_id = $1 AND kind = $2 AND current_version_id IS NOT NULL";
    tx.count(sql, &[app_id.into(), kind.as_str().into()]).await
}

pub(crate) async fn insert(tx: &mut Tx, app_id: i64, kind: UnitKind, name: &UnitName) -> Result<UnitRow> {
    let sql = format!("INSERT INTO units (app_id, kind, name, last_number) VALUES ($1, $2, $3, 0) RETURNING {COLUMNS}");
    read(&tx.query_one(&sql, &[app_id.into(), kind.as_str().into(), name.as_str().into()]).await?)
}

pub(crate) async fn save(tx: &mut Tx, unit: &UnitRow) -> Result<()> {
    let sql = "UPDATE units SET last_number = $2, current_version_id = $3, deployment_id = $4, \
               last_deployment_id = $5 WHERE id = $1";
    let params = [
        unit.id.into(),
        unit.last_number.into(),
        unit.current_version_id.into(),
        unit.deployment_id.into(),
        unit.last_deployment_id.into(),
    ];
    tx.exactly_one(sql, &params).await
}

pub(crate) async fn set_deployment(tx: &mut Tx, app_id: i64, key: &UnitKey, deployment_id: i64) -> Result<()> {
    let sql = "UPDATE units SET deployment_id = $4 WHERE app_id = $1 AND kind = $2 AND name = $3";
    let params = [app_id.into(), key.kind.as_str().into(), key.name.as_str().into(), deployment_id.into()];
    tx.exactly_one(sql, &params).await
}

/// For an app that is being deleted.
pub(crate) async fn remove_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("UPDATE units SET current_version_id = NULL WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

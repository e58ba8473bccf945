use milepost_model::spec::PinRole;
use milepost_model::{Digest, Label, Timestamp};

use crate::db::{Row, Tx, Val, placeholders};
use crate::error::Result;
use crate::words::{Word, words};

#[derive(Debug, Clone)]
pub(crate) struct VersionRow {
    pub id: i64,
    pub unit_id: i64,
    pub number: i64,
    pub uid: String,
    pub label: Option<Label>,
    pub digest: Digest,
    /// `None` once the version is deleted.
    pub content_id: Option<i64>,
    pub description: String,
    pub created_at: Timestamp,
    pub created_by: String,
    pub state: VersionState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionState {
    Active,
    /// Its unit was removed. Kept for the releases that still serve it.
    Retired,
    Deleted,
}

pub(crate) struct NewVersion<'a> {
    pub app_id: i64,
    pub unit_id: i64,
    pub number: i64,
    pub uid: &'a str,
    pub label: Option<&'a Label>,
    pub digest: &'a Digest,
    pub content_id: i64,
    pub description: &'a str,
    pub created_at: Timestamp,
    pub created_by: &'a str,
}

const COLUMNS: &str = "id, unit_id, number, uid, label, digest, content_id, description, created_at, created_by, state";

fn read(row: &Row) -> Result<VersionRow> {
    Ok(VersionRow {
        id: row.int(0)?,
        unit_id: row.int(1)?,
        number: row.int(2)?,
        uid: row.text(3)?,
        label: row.opt_parse(4)?,
        digest: row.digest(5)?,
        content_id: row.opt_int(6)?,
        description: row.text(7)?,
        created_at: row.time(8)?,
        created_by: row.text(9)?,
        state: row.word(10, "versions.state")?,
    })
}

words! {
    VersionState { Active => "active", Retired => "retired", Deleted => "deleted" }
}

async fn find(tx: &mut Tx, condition: &str, params: &[Val]) -> Result<Option<VersionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM versions WHERE {condition}");
    tx.query_opt(&sql, params).await?.as_ref().map(read).transpose()
}

pub(crate) async fn get(tx: &mut Tx, id: i64) -> Result<VersionRow> {
    let sql = format!("SELECT {COLUMNS} FROM versions WHERE id = $1");
    read(&tx.query_one(&sql, &[id.into()]).await?)
}

pub(crate) async fn find_by_number(tx: &mut Tx, unit_id: i64, number: i64) -> Result<Option<VersionRow>> {
    find(tx, "unit_id = $1 AND number = $2", &[unit_id.into(), number.into()]).await
}

pub(crate) async fn find_by_uid(tx: &mut Tx, unit_id: i64, uid: &str) -> Result<Option<VersionRow>> {
    find(tx, "unit_id = $1 AND uid = $2", &[unit_id.into(), uid.into()]).await
}

pub(crate) async fn find_by_label(tx: &mut Tx, unit_id: i64, label: &str) -> Result<Option<VersionRow>> {
    find(tx, "unit_id = $1 AND label = $2", &[unit_id.into(), label.into()]).await
}

/// Returns the label of the newest version that has one.
pub(crate) async fn newest_label(tx: &mut Tx, unit_id: i64) -> Result<Option<Label>> {
    let sql = "SELECT label FROM versions WHERE unit_id = $1 AND state = 'active' AND label IS NOT NULL ORDER BY number DESC LIMIT 1";
    tx.query_opt(sql, &[unit_id.into()]).await?.map(|row| row.parse(0)).transpose()
}

/// Returns active versions whose digest lies between two bounds, newest first. Two of them suffice
/// to show that a prefix is ambiguous.
pub(crate) async fn find_by_digest_range(
    tx: &mut Tx,
    unit_id: i64,
    low: &[u8],
    high: &[u8],
) -> Result<Vec<VersionRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM versions WHERE unit_id = $1 AND digest >= $2 AND digest <= $3 AND state = 'active' \
         ORDER BY number DESC LIMIT 50"
    );
    tx.query(&sql, &[unit_id.into(), low.to_vec().into(), high.to_vec().into()]).await?.iter().map(read).collect()
}

/// Returns active versions, newest first, with numbers below `below`.
pub(crate) async fn list(tx: &mut Tx, unit_id: i64, below: Option<i64>, limit: i64) -> Result<Vec<VersionRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM versions WHERE unit_id = $1 AND number < $2 AND state = 'active' ORDER BY number DESC LIMIT $3"
    );
    let params = [unit_id.into(), below.unwrap_or(i64::MAX).into(), limit.into()];
    tx.query(&sql, &params).await?.iter().map(read).collect()
}

pub(crate) async fn count(tx: &mut Tx, unit_id: i64) -> Result<i64> {
    tx.count("SELECT count(*) FROM versions WHERE unit_id = $1 AND state = 'active'", &[unit_id.into()]).await
}

pub(crate) async fn uid_exists(tx: &mut Tx, app_id: i64, word: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM versions WHERE app_id = $1 AND uid = $2";
    Ok(tx.count(sql, &[app_id.into(), word.into()]).await? > 0)
}

pub(crate) async fn insert(tx: &mut Tx, new: &NewVersion<'_>) -> Result<VersionRow> {
    let sql = format!(
        "INSERT INTO versions (app_id, unit_id, number, uid, label, digest, content_id, description, created_at, created_by, state) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'active') RETURNING {COLUMNS}"
    );
    let params = [
        new.app_id.into(),
        new.unit_id.into(),
        new.number.into(),
        new.uid.into(),
        new.label.map(Label::as_str).into(),
        new.digest.into(),
        new.content_id.into(),
        new.description.into(),
        new.created_at.into(),
        new.created_by.into(),
    ];
    read(&tx.query_one(&sql, &params).await?)
}

pub(crate) async fn set_description(tx: &mut Tx, id: i64, description: &str) -> Result<()> {
    tx.exactly_one("UPDATE versions SET description = $2 WHERE id = $1", &[id.into(), description.into()]).await
}

/// For re-keying a secret. The content and digest of any other version never change.
pub(crate) async fn set_content(tx: &mut Tx, id: i64, digest: &Digest, content_id: Option<i64>) -> Result<()> {
    let sql = "UPDATE versions SET digest = $2, content_id = $3 WHERE id = $1";
    tx.exactly_one(sql, &[id.into(), digest.into(), content_id.into()]).await
}

pub(crate) async fn retire_all(tx: &mut Tx, unit_id: i64) -> Result<u64> {
    tx.execute("UPDATE versions SET state = 'retired' WHERE unit_id = $1 AND state = 'active'", &[unit_id.into()]).await
}

/// For an app that is being deleted.
pub(crate) async fn retire_all_of_app(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("UPDATE versions SET state = 'retired' WHERE app_id = $1 AND state = 'active'", &[app_id.into()])
        .await?;
    Ok(())
}

/// Returns the units of a deployment whose current version it did not make.
pub(crate) async fn made_by_hand(tx: &mut Tx, app_id: i64, deployment_id: i64) -> Result<Vec<i64>> {
    let sql = "SELECT u.id FROM units u JOIN versions v ON v.id = u.current_version_id \
               WHERE u.app_id = $1 AND u.deployment_id = $2 AND u.kind <> 'secret' \
               AND (v.deployment_id IS NULL OR v.deployment_id <> $2)";
    tx.query(sql, &[app_id.into(), deployment_id.into()]).await?.iter().map(|row| row.int(0)).collect()
}

/// Marks the current versions of a deployment's units as its own.
pub(crate) async fn declare(tx: &mut Tx, app_id: i64, deployment_id: i64) -> Result<()> {
    let sql = "UPDATE versions SET deployment_id = $2 WHERE (deployment_id IS NULL OR deployment_id <> $2) AND id IN \
               (SELECT current_version_id FROM units WHERE app_id = $1 AND deployment_id = $2 \
               AND current_version_id IS NOT NULL AND kind <> 'secret')";
    tx.execute(sql, &[app_id.into(), deployment_id.into()]).await?;
    Ok(())
}

/// Returns the newest version of a unit, below a number, that belongs to a deployment and still has
/// its content.
pub(crate) async fn last_declared(
    tx: &mut Tx,
    unit_id: i64,
    deployment_id: i64,
    below: i64,
) -> Result<Option<VersionRow>> {
    let condition = "unit_id = $1 AND deployment_id = $2 AND number < $3 AND content_id IS NOT NULL \
                     ORDER BY number DESC LIMIT 1";
    find(tx, condition, &[unit_id.into(), deployment_id.into(), below.into()]).await
}

/// Makes a retired version, and the retired versions that it is pinned to, selectable again.
pub(crate) async fn activate(tx: &mut Tx, version_id: i64) -> Result<()> {
    let mut wanted = vec![version_id];
    while let Some(id) = wanted.pop() {
        tx.execute("UPDATE versions SET state = 'active' WHERE id = $1 AND state = 'retired'", &[id.into()]).await?;
        wanted.extend(pins_of(tx, &[id]).await?.into_iter().map(|(_, _, target)| target));
    }
    Ok(())
}

/// Drops the content of a version, its pins and its groups. Its number, uid and label stay taken.
pub(crate) async fn mark_deleted(tx: &mut Tx, id: i64) -> Result<()> {
    tx.exactly_one("UPDATE versions SET state = 'deleted', content_id = NULL WHERE id = $1", &[id.into()]).await?;
    tx.execute("DELETE FROM version_pins WHERE version_id = $1", &[id.into()]).await?;
    tx.execute("DELETE FROM group_members WHERE version_id = $1", &[id.into()]).await?;
    Ok(())
}

/// Locks versions for executions that are about to need them, and returns the rows that exist with
/// their states.
pub(crate) async fn hold(tx: &mut Tx, ids: &[i64], at_once: bool) -> Result<Vec<(i64, VersionState)>> {
    let lock = if at_once { tx.for_use_at_once() } else { tx.for_use() };
    let mut found = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(500) {
        let list = placeholders(chunk.len(), 1);
        let sql = format!("SELECT id, state FROM versions WHERE id IN ({list}) ORDER BY id{lock}");
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.push((row.int(0)?, row.word(1, "versions.state")?));
        }
    }
    Ok(found)
}

/// Waits for transactions that are accepting an execution of these versions, so that a later lookup
/// of executions finds them, and blocks new ones until the transaction ends.
pub(crate) async fn hold_for_delete(tx: &mut Tx, ids: &[i64]) -> Result<()> {
    for chunk in ids.chunks(500) {
        let list = placeholders(chunk.len(), 1);
        let sql = format!("SELECT id FROM versions WHERE id IN ({list}) ORDER BY id{}", tx.for_update());
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        tx.query(&sql, &params).await?;
    }
    Ok(())
}

pub(crate) async fn insert_pin(tx: &mut Tx, version_id: i64, role: PinRole, target_id: i64) -> Result<()> {
    let sql = "INSERT INTO version_pins (version_id, role, target_id) VALUES ($1, $2, $3)";
    tx.exactly_one(sql, &[version_id.into(), role.as_str().into(), target_id.into()]).await
}

/// Returns the pins of a version: role and version number.
pub(crate) async fn pins(tx: &mut Tx, version_id: i64) -> Result<Vec<(String, i64)>> {
    let sql =
        "SELECT p.role, v.number FROM version_pins p JOIN versions v ON v.id = p.target_id WHERE p.version_id = $1";
    let rows = tx.query(sql, &[version_id.into()]).await?;
    rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
}

/// Returns the pins of many versions.
pub(crate) async fn pins_of(tx: &mut Tx, version_ids: &[i64]) -> Result<Vec<(i64, PinRole, i64)>> {
    let list = placeholders(version_ids.len(), 1);
    let sql = format!("SELECT version_id, role, target_id FROM version_pins WHERE version_id IN ({list})");
    let params: Vec<Val> = version_ids.iter().map(|id| (*id).into()).collect();
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(|row| Ok((row.int(0)?, row.word(1, "version_pins.role")?, row.int(2)?))).collect()
}

/// Describes the deleted versions that a version is pinned to.
pub(crate) async fn deleted_pins(tx: &mut Tx, version_id: i64) -> Result<Vec<String>> {
    let sql = "SELECT u.kind, u.name, t.number FROM version_pins p JOIN versions t ON t.id = p.target_id \
               JOIN units u ON u.id = t.unit_id WHERE p.version_id = $1 AND t.state = 'deleted'";
    let told = |row: &Row| Ok(format!("{} {} version {}", row.text(0)?, row.text(1)?, row.int(2)?));
    tx.query(sql, &[version_id.into()]).await?.iter().map(told).collect()
}

/// Returns versions that pin this one in a role and still exist.
pub(crate) async fn pinned_by(tx: &mut Tx, target_id: i64, role: PinRole) -> Result<Vec<VersionRow>> {
    let columns: Vec<String> = COLUMNS.split(", ").map(|column| format!("v.{column}")).collect();
    let sql = format!(
        "SELECT {} FROM version_pins p JOIN versions v ON v.id = p.version_id \
         WHERE p.target_id = $1 AND p.role = $2 AND v.state <> 'deleted' ORDER BY v.id",
        columns.join(", ")
    );
    tx.query(&sql, &[target_id.into(), role.as_str().into()]).await?.iter().map(read).collect()
}

pub(crate) async fn is_of_app(tx: &mut Tx, id: i64, app_id: i64) -> Result<bool> {
    let sql = "SELECT count(*) FROM versions WHERE id = $1 AND app_id = $2";
    Ok(tx.count(sql, &[id.into(), app_id.into()]).await? > 0)
}

/// Returns the apps that have retired versions.
pub(crate) async fn apps_with_retired(tx: &mut Tx) -> Result<Vec<i64>> {
    let rows = tx.query("SELECT DISTINCT app_id FROM versions WHERE state = 'retired'", &[]).await?;
    rows.iter().map(|row| row.int(0)).collect()
}

/// Holds for a retired version that nothing needs: no active release as a member or through a pin,
/// no alias, no open execution, no job, no webhook.
const UNNEEDED: &str = "NOT EXISTS (SELECT 1 FROM memberships m JOIN releases r ON r.app_id = $1 AND r.state = 'active' \
         AND r.app_seq >= m.from_seq AND (m.until_seq IS NULL OR r.app_seq < m.until_seq) WHERE m.version_id = v.id) \
     AND NOT EXISTS (SELECT 1 FROM version_pins p JOIN versions w ON w.id = p.version_id \
         WHERE p.target_id = v.id AND w.state <> 'deleted') \
     AND NOT EXISTS (SELECT 1 FROM aliases a WHERE a.version_id = v.id) \
     AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.version_id = v.id AND e.finished_at IS NULL) \
     AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.version_id = v.id AND j.state IN ('running', 'paused')) \
     AND NOT EXISTS (SELECT 1 FROM webhooks h WHERE h.version_id = v.id)";

/// Returns retired versions of an app that nothing needs, locked so that no execution of them is
/// accepted. Skips versions that another transaction has locked, until the next sweep.
pub(crate) async fn retired_and_unserved(tx: &mut Tx, app_id: i64, limit: i64) -> Result<Vec<i64>> {
    let candidates = format!(
        "SELECT v.id FROM versions v WHERE v.app_id = $1 AND v.state = 'retired' AND {UNNEEDED} ORDER BY v.id LIMIT $2{}",
        tx.for_claim()
    );
    // An execution may have been accepted between the query and the lock.
    let recheck = format!("SELECT v.id FROM versions v WHERE v.app_id = $1 AND v.id = $2 AND {UNNEEDED}");
    let mut found = Vec::new();
    for row in tx.query(&candidates, &[app_id.into(), limit.into()]).await? {
        let id = row.int(0)?;
        if tx.query_opt(&recheck, &[app_id.into(), id.into()]).await?.is_some() {
            found.push(id);
        }
    }
    Ok(found)
}

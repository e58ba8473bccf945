use std::collections::HashMap;

use milepost_model::AppName;
use milepost_model::webhook::Webhook;

use crate::db::{Row, Tx, Val, placeholders};
use crate::error::Result;
use crate::needs::Needed;

/// Rows per statement.
const CHUNK: usize = 400;

#[derive(Debug, Clone)]
pub(crate) struct WebhookRow {
    pub app: AppName,
    pub app_id: i64,
    pub unit_id: i64,
    /// `None` if each call resolves the selector.
    pub version_id: Option<i64>,
    pub sealed: Option<Vec<u8>>,
    pub webhook: Webhook,
}

const SELECT: &str = "SELECT w.id, a.name, w.app_id, w.unit_id, w.version_id, u.name, w.selector, v.number, w.description, \
                      w.sealed, w.created_at, w.created_by, w.updated_at FROM webhooks w JOIN apps a ON a.id = w.app_id \
                      JOIN units u ON u.id = w.unit_id LEFT JOIN versions v ON v.id = w.version_id";

fn read(row: &Row) -> Result<WebhookRow> {
    let sealed = row.opt_bytes(9)?;
    let webhook = Webhook {
        id: row.text(0)?,
        function: row.parse(5)?,
        selector: row.parse(6)?,
        version: row.opt_int(7)?,
        description: row.text(8)?,
        signed: sealed.is_some(),
        url: String::new(),
        created_at: row.time(10)?,
        created_by: row.text(11)?,
        updated_at: row.opt_time(12)?,
    };
    Ok(WebhookRow {
        app: row.parse(1)?,
        app_id: row.int(2)?,
        unit_id: row.int(3)?,
        version_id: row.opt_int(4)?,
        sealed,
        webhook,
    })
}

pub(crate) async fn put(tx: &mut Tx, row: &WebhookRow) -> Result<()> {
    let sql = "INSERT INTO webhooks (id, app_id, unit_id, selector, version_id, description, sealed, created_at, created_by, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO UPDATE SET unit_id = excluded.unit_id, \
               selector = excluded.selector, version_id = excluded.version_id, description = excluded.description, \
               sealed = excluded.sealed, updated_at = excluded.updated_at";
    let webhook = &row.webhook;
    let params = [
        webhook.id.as_str().into(),
        row.app_id.into(),
        row.unit_id.into(),
        webhook.selector.to_string().into(),
        row.version_id.into(),
        webhook.description.as_str().into(),
        row.sealed.clone().into(),
        webhook.created_at.into(),
        webhook.created_by.as_str().into(),
        webhook.updated_at.into(),
    ];
    tx.exactly_one(sql, &params).await
}

/// Finds a webhook of any app.
pub(crate) async fn find(tx: &mut Tx, id: &str) -> Result<Option<WebhookRow>> {
    tx.query_opt(&format!("{SELECT} WHERE w.id = $1"), &[id.into()]).await?.as_ref().map(read).transpose()
}

/// Sorted by id, which is random, after `after`.
pub(crate) async fn list(tx: &mut Tx, app_id: i64, after: Option<&str>, limit: i64) -> Result<Vec<WebhookRow>> {
    let sql = format!("{SELECT} WHERE w.app_id = $1 AND w.id > $2 ORDER BY w.id LIMIT $3");
    tx.query(&sql, &[app_id.into(), after.unwrap_or("").into(), limit.into()]).await?.iter().map(read).collect()
}

pub(crate) async fn delete(tx: &mut Tx, id: &str) -> Result<()> {
    tx.exactly_one("DELETE FROM webhooks WHERE id = $1", &[id.into()]).await
}

pub(crate) async fn delete_all(tx: &mut Tx, app_id: i64) -> Result<()> {
    tx.execute("DELETE FROM webhooks WHERE app_id = $1", &[app_id.into()]).await?;
    Ok(())
}

pub(crate) async fn ids(tx: &mut Tx, needed: Needed<'_>, limit: i64) -> Result<Vec<String>> {
    let (condition, params) = needed.condition();
    let sql = format!("SELECT id FROM webhooks WHERE {condition} ORDER BY id LIMIT {limit}");
    tx.query(&sql, &params).await?.iter().map(|row| row.text(0)).collect()
}

/// Returns the descriptions of those of these webhooks that have one.
pub(crate) async fn descriptions(tx: &mut Tx, ids: &[&str]) -> Result<HashMap<String, String>> {
    let mut found = HashMap::new();
    for chunk in ids.chunks(CHUNK) {
        let list = placeholders(chunk.len(), 1);
        let sql = format!("SELECT id, description FROM webhooks WHERE description <> '' AND id IN ({list})");
        let params: Vec<Val> = chunk.iter().map(|id| (*id).into()).collect();
        for row in tx.query(&sql, &params).await? {
            found.insert(row.text(0)?, row.text(1)?);
        }
    }
    Ok(found)
}

use std::sync::Arc;

use milepost_model::event::EventKind;
use milepost_model::refusal::View;
use milepost_model::webhook::{NewWebhook, Webhook, WebhookChange};
use milepost_model::{AppName, Code, Refusal};
use serde_json::json;

use super::execution::clean;
use super::job::target;
use crate::db::Ending;
use crate::effects::Written;
use crate::error::Result;
use crate::read::{PageOf, cut};
use crate::tables::apps::AppRow;
use crate::tables::webhooks::{self, WebhookRow};
use crate::{Catalog, uuids};

/// A webhook that is being called.
#[derive(Debug, Clone)]
pub struct CalledWebhook {
    pub app: AppName,
    pub webhook: Webhook,
    /// The secret, encrypted under the server's key.
    pub sealed: Option<Vec<u8>>,
}

/// What to do with the secret of a webhook.
#[derive(Debug, Clone)]
pub enum SecretChange {
    Keep,
    Remove,
    /// Encrypted under the server's key.
    Set(Vec<u8>),
}

impl Catalog {
    /// Ignores `new.secret` and uses `sealed`.
    pub async fn webhook_create(
        &self,
        app: &AppName,
        actor: &str,
        new: NewWebhook,
        sealed: Option<Vec<u8>>,
    ) -> Result<Written<Webhook>> {
        let ids = Arc::clone(self.ids());
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let (unit, pinned) = target(work, &new.function, &new.version).await?;
                let webhook = Webhook {
                    id: uuids::v4(&*ids),
                    function: unit.name.clone(),
                    selector: new.version,
                    version: pinned.as_ref().map(|version| version.number),
                    description: clean(&new.description),
                    signed: sealed.is_some(),
                    url: String::new(),
                    created_at: work.act.at,
                    created_by: work.act.actor.clone(),
                    updated_at: None,
                };
                let row = WebhookRow {
                    app: work.app.name.clone(),
                    app_id: work.app.id,
                    unit_id: unit.id,
                    version_id: pinned.map(|version| version.id),
                    sealed,
                    webhook,
                };
                webhooks::put(work.tx, &row).await?;
                work.event(EventKind::WebhookCreated, &subject(&row.webhook), None, Some(logged(&row.webhook)));
                Ok(row.webhook)
            })
        })
        .await
    }

    /// Ignores `change.secret` and uses `secret`.
    pub async fn webhook_update(
        &self,
        app: &AppName,
        actor: &str,
        id: String,
        change: WebhookChange,
        secret: SecretChange,
    ) -> Result<Written<Webhook>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let mut row = own(webhooks::find(work.tx, &id).await?, &work.app, &id)?;
                let before = logged(&row.webhook);
                if change.function.is_some() || change.version.is_some() {
                    let function = change.function.unwrap_or_else(|| row.webhook.function.clone());
                    let selector = change.version.unwrap_or_else(|| row.webhook.selector.clone());
                    let (unit, pinned) = target(work, &function, &selector).await?;
                    row.unit_id = unit.id;
                    row.version_id = pinned.as_ref().map(|version| version.id);
                    row.webhook.version = pinned.map(|version| version.number);
                    row.webhook.function = function;
                    row.webhook.selector = selector;
                }
                if let Some(description) = change.description {
                    row.webhook.description = clean(&description);
                }
                match secret {
                    SecretChange::Keep => {}
                    SecretChange::Remove => row.sealed = None,
                    SecretChange::Set(sealed) => row.sealed = Some(sealed),
                }
                row.webhook.signed = row.sealed.is_some();
                row.webhook.updated_at = Some(work.act.at);
                webhooks::put(work.tx, &row).await?;
                work.event(EventKind::WebhookChanged, &subject(&row.webhook), Some(before), Some(logged(&row.webhook)));
                Ok(row.webhook)
            })
        })
        .await
    }

    pub async fn webhook_delete(&self, app: &AppName, actor: &str, id: String) -> Result<Written<()>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let row = own(webhooks::find(work.tx, &id).await?, &work.app, &id)?;
                webhooks::delete(work.tx, &id).await?;
                work.event(EventKind::WebhookDeleted, &subject(&row.webhook), Some(logged(&row.webhook)), None);
                Ok(())
            })
        })
        .await
    }

    pub async fn webhook_get(&self, app: &AppName, id: String) -> Result<Webhook> {
        self.look(app, move |tx, app| {
            Box::pin(async move { Ok(own(webhooks::find(tx, &id).await?, &app, &id)?.webhook) })
        })
        .await
    }

    /// Sorted by id, after `after`.
    pub async fn webhook_list(
        &self,
        app: &AppName,
        after: Option<String>,
        limit: i64,
    ) -> Result<PageOf<Webhook, String>> {
        self.look(app, move |tx, app| {
            Box::pin(async move {
                let mut rows = webhooks::list(tx, app.id, after.as_deref(), limit.saturating_add(1)).await?;
                let next = cut(&mut rows, limit, |row| row.webhook.id.clone());
                Ok(PageOf { items: rows.into_iter().map(|row| row.webhook).collect(), next })
            })
        })
        .await
    }

    /// Returns the webhook with this id in any app. For calls, which carry nothing but the id.
    pub async fn webhook_find(&self, id: String) -> Result<Option<CalledWebhook>> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let row = webhooks::find(tx, &id).await?;
                    Ok(row.map(|row| CalledWebhook { app: row.app, webhook: row.webhook, sealed: row.sealed }))
                })
            })
            .await
    }
}

fn own(found: Option<WebhookRow>, app: &AppRow, id: &str) -> Result<WebhookRow, Refusal> {
    found.filter(|row| row.app_id == app.id).ok_or_else(|| {
        let message = format!("app `{}` has no webhook `{id}`", app.name);
        Refusal::new(Code::WebhookNotFound, message).see(View::Webhooks)
    })
}

/// Shortens the id: the whole id is a callable address, so the event log has only its beginning.
fn subject(webhook: &Webhook) -> String {
    format!("webhook {}…", webhook.id.chars().take(8).collect::<String>())
}

fn logged(webhook: &Webhook) -> serde_json::Value {
    json!({ "function": webhook.function, "selector": webhook.selector, "description": webhook.description,
            "signed": webhook.signed })
}

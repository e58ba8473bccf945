use milepost_model::timer::LiveTimers;
use milepost_model::webhook::{NewWebhook, Webhook, WebhookChange};
use reqwest::Method;

use super::paging;
use crate::api::Page;
use crate::{Client, ClientError};

impl Client {
    pub async fn webhook_create(&self, app: &str, new: &NewWebhook) -> Result<Webhook, ClientError> {
        self.post(&["apps", app, "webhooks"], new).await
    }

    pub async fn webhook_list(
        &self,
        app: &str,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<Webhook>, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "webhooks"]).query(&paging(limit, cursor))).await
    }

    pub async fn webhook_get(&self, app: &str, id: &str) -> Result<Webhook, ClientError> {
        self.get(&["apps", app, "webhooks", id]).await
    }

    pub async fn webhook_update(&self, app: &str, id: &str, change: &WebhookChange) -> Result<Webhook, ClientError> {
        self.json(self.request(Method::PATCH, &["apps", app, "webhooks", id]).json(change)).await
    }

    pub async fn webhook_delete(&self, app: &str, id: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "webhooks", id]).await
    }

    /// The active timers: those of the live release.
    pub async fn timers(&self, app: &str) -> Result<LiveTimers, ClientError> {
        self.get(&["apps", app, "timers"]).await
    }
}

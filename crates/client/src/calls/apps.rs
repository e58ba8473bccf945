use milepost_model::change::Change;
use milepost_model::event::Event;
use milepost_model::snapshot::AppVersion;
use milepost_model::{AppName, ChangeOutcome, PlanName};
use reqwest::Method;

use super::paging;
use crate::api::{App, AtMoment, Diff, NewApp, Page, PlanChanged, SetPlan};
use crate::http::CHECK_LIMIT;
use crate::{Client, ClientError};

impl Client {
    pub async fn app_list(&self, limit: i64, cursor: Option<&str>) -> Result<Page<App>, ClientError> {
        self.json(self.request(Method::GET, &["apps"]).query(&paging(limit, cursor))).await
    }

    pub async fn app_create(&self, name: &AppName, plan: PlanName) -> Result<App, ClientError> {
        self.post(&["apps"], &NewApp { name: name.clone(), plan }).await
    }

    pub async fn app_get(&self, app: &str) -> Result<App, ClientError> {
        self.get(&["apps", app]).await
    }

    pub async fn app_delete(&self, app: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app]).await
    }

    /// Deletes the app only if it has no version.
    pub async fn app_delete_unused(&self, app: &str) -> Result<(), ClientError> {
        let request = self.request(reqwest::Method::DELETE, &["apps", app]).query(&[("unused", "true")]);
        self.send(request).await.map(drop)
    }

    pub async fn app_set_plan(&self, app: &str, plan: PlanName) -> Result<PlanChanged, ClientError> {
        self.put(&["apps", app, "plan"], &SetPlan { plan }).await
    }

    /// Applies a change. With an idempotency key, it is safe to retry after a broken connection.
    pub async fn change(
        &self,
        app: &str,
        change: &Change,
        idempotency_key: Option<&str>,
    ) -> Result<ChangeOutcome, ClientError> {
        let mut request = self.request(Method::POST, &["apps", app, "changes"]).json(change).timeout(CHECK_LIMIT);
        if let Some(key) = idempotency_key {
            request = request.header("idempotency-key", key);
        }
        self.json(request).await
    }

    pub async fn event_list(&self, app: &str, limit: i64, cursor: Option<&str>) -> Result<Page<Event>, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "events"]).query(&paging(limit, cursor))).await
    }

    pub async fn at(&self, app: &str, time: &str) -> Result<AtMoment, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "at"]).query(&[("time", time)])).await
    }

    pub async fn app_version_list(
        &self,
        app: &str,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<AppVersion>, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "versions"]).query(&paging(limit, cursor))).await
    }

    pub async fn app_version_get(&self, app: &str, version: &str) -> Result<AppVersion, ClientError> {
        self.get(&["apps", app, "versions", version]).await
    }

    /// The differences in units, fields and names of files.
    pub async fn diff(&self, app: &str, from: &str, to: &str) -> Result<Diff, ClientError> {
        self.json(self.request(Method::GET, &["apps", app, "diff"]).query(&[("from", from), ("to", to)])).await
    }

    /// Like [`Self::diff`], with the differing lines of text files.
    pub async fn diff_with_text(&self, app: &str, from: &str, to: &str) -> Result<Diff, ClientError> {
        let query = [("from", from), ("to", to), ("text", "true")];
        self.json(self.request(Method::GET, &["apps", app, "diff"]).query(&query)).await
    }
}

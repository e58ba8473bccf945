use milepost_model::Selector;
use milepost_model::pointer::{Alias, PointerMove};
use milepost_model::release::{Live, Release};
use reqwest::Method;

use super::paging;
use crate::api::{NewRelease, Page, Released, RollBack, RolledBack, SetAlias, SetLive, SetTag, Tag, Why};
use crate::http::CHECK_LIMIT;
use crate::{Client, ClientError};

impl Client {
    pub async fn alias_list(&self, app: &str, function: &str) -> Result<Vec<Alias>, ClientError> {
        self.get(&["apps", app, "functions", function, "aliases"]).await
    }

    pub async fn alias_get(&self, app: &str, function: &str, alias: &str) -> Result<Alias, ClientError> {
        self.get(&["apps", app, "functions", function, "aliases", alias]).await
    }

    pub async fn alias_create(
        &self,
        app: &str,
        function: &str,
        alias: &str,
        version: Selector,
        why: String,
    ) -> Result<Alias, ClientError> {
        self.post(&["apps", app, "functions", function, "aliases", alias], &SetAlias { version, why }).await
    }

    pub async fn alias_update(
        &self,
        app: &str,
        function: &str,
        alias: &str,
        version: Selector,
        why: String,
    ) -> Result<Alias, ClientError> {
        self.put(&["apps", app, "functions", function, "aliases", alias], &SetAlias { version, why }).await
    }

    pub async fn alias_delete(&self, app: &str, function: &str, alias: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "functions", function, "aliases", alias]).await
    }

    pub async fn alias_rollback(
        &self,
        app: &str,
        function: &str,
        alias: &str,
        why: String,
    ) -> Result<Alias, ClientError> {
        self.post(&["apps", app, "functions", function, "aliases", alias, "rollback"], &Why { why }).await
    }

    pub async fn alias_history(
        &self,
        app: &str,
        function: &str,
        alias: &str,
        limit: i64,
    ) -> Result<Page<PointerMove>, ClientError> {
        let parts = ["apps", app, "functions", function, "aliases", alias, "history"];
        self.json(self.request(Method::GET, &parts).query(&paging(limit, None))).await
    }

    pub async fn release_list(
        &self,
        app: &str,
        active: bool,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<Release>, ClientError> {
        let mut query = paging(limit, cursor);
        query.push(("active", active.to_string()));
        self.json(self.request(Method::GET, &["apps", app, "releases"]).query(&query)).await
    }

    pub async fn release_get(&self, app: &str, release: &str) -> Result<Release, ClientError> {
        self.get(&["apps", app, "releases", release]).await
    }

    pub async fn release_create(
        &self,
        app: &str,
        app_version: Option<String>,
        why: String,
        check: bool,
    ) -> Result<Released, ClientError> {
        let new = NewRelease { app_version, why, check };
        self.json(self.request(Method::POST, &["apps", app, "releases"]).json(&new).timeout(CHECK_LIMIT)).await
    }

    pub async fn release_expire(&self, app: &str, release: &str, why: String) -> Result<Release, ClientError> {
        self.post(&["apps", app, "releases", release, "expire"], &Why { why }).await
    }

    pub async fn tag_list(&self, app: &str) -> Result<Vec<Tag>, ClientError> {
        self.get(&["apps", app, "tags"]).await
    }

    pub async fn tag_set(&self, app: &str, tag: &str, release: &str, why: String) -> Result<Release, ClientError> {
        self.put(&["apps", app, "tags", tag], &SetTag { release: release.to_owned(), why }).await
    }

    pub async fn tag_delete(&self, app: &str, tag: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "tags", tag]).await
    }

    /// The history of `live`, `latest` or a tag.
    pub async fn release_pointer_history(
        &self,
        app: &str,
        pointer: &str,
        limit: i64,
    ) -> Result<Page<PointerMove>, ClientError> {
        let parts: &[&str] = match pointer {
            "live" | "latest" => &["apps", app, pointer, "history"],
            tag => &["apps", app, "tags", tag, "history"],
        };
        self.json(self.request(Method::GET, parts).query(&paging(limit, None))).await
    }

    pub async fn live_get(&self, app: &str) -> Result<Live, ClientError> {
        self.get(&["apps", app, "live"]).await
    }

    pub async fn live_set(&self, app: &str, target: &SetLive) -> Result<Live, ClientError> {
        self.put(&["apps", app, "live"], target).await
    }

    pub async fn rollback(&self, app: &str, rollback: &RollBack) -> Result<RolledBack, ClientError> {
        self.post(&["apps", app, "rollback"], rollback).await
    }
}

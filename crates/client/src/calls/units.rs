use milepost_model::change::UnitKey;
use milepost_model::snapshot::{Group, Unit, Version};
use milepost_model::{ChangeOutcome, Digest, UnitKind};
use reqwest::{Method, Response};

use super::{paging, version_path};
use crate::api::{Describe, Page, TreeItem};
use crate::http::{CHECK_LIMIT, NO_LIMIT};
use crate::{Client, ClientError};

impl Client {
    pub async fn unit_list(
        &self,
        app: &str,
        kind: Option<UnitKind>,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<Unit>, ClientError> {
        let mut query = paging(limit, cursor);
        query.extend(kind.map(|kind| ("kind", kind.to_string())));
        self.json(self.request(Method::GET, &["apps", app, "units"]).query(&query)).await
    }

    pub async fn unit_get(&self, app: &str, key: &UnitKey) -> Result<Unit, ClientError> {
        self.get(&["apps", app, "units", key.kind.as_str(), key.name.as_str()]).await
    }

    pub async fn version_list(
        &self,
        app: &str,
        key: &UnitKey,
        limit: i64,
        cursor: Option<&str>,
    ) -> Result<Page<Version>, ClientError> {
        let parts = ["apps", app, "units", key.kind.as_str(), key.name.as_str(), "versions"];
        self.json(self.request(Method::GET, &parts).query(&paging(limit, cursor))).await
    }

    pub async fn version_get(&self, app: &str, key: &UnitKey, selector: &str) -> Result<Version, ClientError> {
        self.get(&version_path(app, key, selector)).await
    }

    pub async fn version_describe(
        &self,
        app: &str,
        key: &UnitKey,
        selector: &str,
        description: &str,
    ) -> Result<Version, ClientError> {
        let body = Describe { description: description.to_owned() };
        self.json(self.request(Method::PATCH, &version_path(app, key, selector)).json(&body)).await
    }

    /// The selector `all` deletes every version.
    pub async fn version_delete(
        &self,
        app: &str,
        key: &UnitKey,
        selector: &str,
        dry_run: bool,
        no_check: bool,
    ) -> Result<ChangeOutcome, ClientError> {
        let request = self.request(Method::DELETE, &version_path(app, key, selector)).timeout(CHECK_LIMIT);
        let query = [("dryRun", dry_run.to_string()), ("noCheck", no_check.to_string())];
        self.json(request.query(&query)).await
    }

    /// Streams the files of a version as a zip.
    pub async fn version_download(
        &self,
        app: &str,
        key: &UnitKey,
        selector: &str,
        part: Option<&str>,
    ) -> Result<Response, ClientError> {
        let mut parts = version_path(app, key, selector).to_vec();
        parts.push("download");
        let request = self.request(Method::GET, &parts).timeout(NO_LIMIT);
        self.send(if let Some(part) = part { request.query(&[("part", part)]) } else { request }).await
    }

    pub async fn tree_get(&self, app: &str, digest: &Digest) -> Result<Vec<TreeItem>, ClientError> {
        self.get(&["apps", app, "trees", &digest.to_string()]).await
    }

    pub async fn group_list(&self, app: &str) -> Result<Vec<Group>, ClientError> {
        self.get(&["apps", app, "groups"]).await
    }

    pub async fn group_get(&self, app: &str, group: &str) -> Result<Group, ClientError> {
        self.get(&["apps", app, "groups", group]).await
    }

    pub async fn group_delete(&self, app: &str, group: &str) -> Result<(), ClientError> {
        self.delete(&["apps", app, "groups", group]).await
    }
}

use bytes::Bytes;
use futures::stream::{Stream, StreamExt};
use milepost_model::channel::Publication;
use milepost_model::install::{
    ChangedInstall, HoldInstall, Install, InstallChange, Installed, LiftInstall, NewInstall, Upgrade,
    UpgradeFromBundle, UpgradePlan,
};
use reqwest::{Body, Method};
use serde::Serialize;

use super::paging;
use crate::api::Page;
use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

const FRAMED: &str = "application/vnd.milepost.install.v1";

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// Installs an app. Returns when it is fetched and healthy, however long that takes.
    pub async fn install_create(&self, new: &NewInstall) -> Result<Installed, ClientError> {
        self.json(self.request(Method::POST, &["installs"]).timeout(NO_LIMIT).json(new)).await
    }

    /// Installs an app from a bundle; the artifact follows in the request body.
    pub async fn install_bundle<S, E>(&self, new: &NewInstall, artifact: S) -> Result<Installed, ClientError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let request = self.request(Method::POST, &["installs", "bundle"]).timeout(NO_LIMIT);
        self.json(request.header("content-type", FRAMED).body(framed(new, artifact))).await
    }

    pub async fn install_list(&self, limit: i64, cursor: Option<&str>) -> Result<Page<Install>, ClientError> {
        self.json(self.request(Method::GET, &["installs"]).query(&paging(limit, cursor))).await
    }

    pub async fn install_get(&self, app: &str) -> Result<Install, ClientError> {
        self.get(&["apps", app, "install"]).await
    }

    pub async fn install_change(&self, app: &str, change: &InstallChange) -> Result<ChangedInstall, ClientError> {
        self.json(self.request(Method::PATCH, &["apps", app, "install"]).json(change)).await
    }

    pub async fn install_hold(&self, app: &str, hold: &HoldInstall) -> Result<Install, ClientError> {
        self.post(&["apps", app, "install", "hold"], hold).await
    }

    pub async fn install_lift(&self, app: &str, lift: &LiftInstall) -> Result<Install, ClientError> {
        self.post(&["apps", app, "install", "lift"], lift).await
    }

    pub async fn install_detach(&self, app: &str) -> Result<Install, ClientError> {
        self.json(self.request(Method::DELETE, &["apps", app, "install"])).await
    }

    /// Records in the app's log what was published or unpublished.
    pub async fn publication_tell(&self, app: &str, publication: &Publication) -> Result<(), ClientError> {
        self.send(self.request(Method::POST, &["apps", app, "publications"]).json(publication)).await.map(drop)
    }

    pub async fn upgrade_plan(&self, app: &str, asked: &Upgrade) -> Result<UpgradePlan, ClientError> {
        self.post(&["apps", app, "upgrade", "plan"], asked).await
    }

    pub async fn upgrade(&self, app: &str, asked: &Upgrade) -> Result<Installed, ClientError> {
        self.json(self.request(Method::POST, &["apps", app, "upgrade"]).timeout(NO_LIMIT).json(asked)).await
    }

    /// Upgrades from a bundle; the artifact follows in the request body.
    pub async fn upgrade_bundle<S, E>(
        &self,
        app: &str,
        asked: &UpgradeFromBundle,
        artifact: S,
    ) -> Result<Installed, ClientError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let request = self.request(Method::POST, &["apps", app, "upgrade", "bundle"]).timeout(NO_LIMIT);
        self.json(request.header("content-type", FRAMED).body(framed(asked, artifact))).await
    }
}

/// The request body: the length of the JSON request, the JSON, then the artifact.
fn framed<S, E>(request: &impl Serialize, artifact: S) -> Body
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: Into<BoxError> + 'static,
{
    // Cannot fail: all map keys are strings, and writing to memory is infallible.
    let json = serde_json::to_vec(request).unwrap_or_default();
    let mut head = (json.len() as u64).to_le_bytes().to_vec();
    head.extend_from_slice(&json);
    let first = futures::stream::iter([Ok::<_, BoxError>(Bytes::from(head))]);
    Body::wrap_stream(first.chain(artifact.map(|chunk| chunk.map_err(Into::into))))
}

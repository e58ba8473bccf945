use bytes::Bytes;
use futures::Stream;
use futures::stream::TryStreamExt;
use reqwest::Method;

use crate::api::{APP_VERSION_HEADER, NOTE_HEADER};
use crate::http::NO_LIMIT;
use crate::{Client, ClientError};

/// An app version being downloaded.
pub struct ArtifactDownload<S> {
    /// The uid of the app version.
    pub app_version: String,
    /// What will behave differently where the artifact is installed.
    pub notes: Vec<String>,
    pub size: Option<u64>,
    pub bytes: S,
}

impl Client {
    /// Downloads an app version as one file; by default the live one.
    pub async fn artifact(
        &self,
        app: &str,
        version: Option<&str>,
    ) -> Result<ArtifactDownload<impl Stream<Item = Result<Bytes, ClientError>> + Send + use<>>, ClientError> {
        let query: Vec<_> = version.map(|version| ("version", version)).into_iter().collect();
        let asked = self.request(Method::GET, &["apps", app, "artifact"]).query(&query).timeout(NO_LIMIT);
        let response = self.send(asked).await?;
        let texts = |name: &str| {
            let values = response.headers().get_all(name).iter();
            values.filter_map(|value| Some(value.to_str().ok()?.to_owned())).collect::<Vec<_>>()
        };
        Ok(ArtifactDownload {
            app_version: texts(APP_VERSION_HEADER).pop().unwrap_or_default(),
            notes: texts(NOTE_HEADER),
            size: response.content_length(),
            bytes: response.bytes_stream().map_err(ClientError::Broken),
        })
    }
}

//! Fetches an artifact from a registry, by digest.

use milepost_model::Digest;
use reqwest::{Method, StatusCode};

use super::error::RegistryError;
use super::repository::Registry;
use crate::error::ArtifactStream;
use crate::http::{body, redirect, shown};

impl Registry {
    /// Streams the bytes of a layer, unverified.
    ///
    /// Registries redirect blob requests to their storage, so one redirect is followed, to TLS only
    /// and without credentials. The caller accepts the bytes only if they match the digest.
    pub(crate) async fn blob(&self, digest: Digest) -> Result<ArtifactStream, RegistryError> {
        let url = self.url(&format!("blobs/{digest}"));
        let mut response = self.send(Method::GET, &url, |request| request).await?;
        if let Some(to) = redirect(&url, &response) {
            if let Some(reason) = self.http.reach().refuses(&to) {
                return Err(RegistryError::OutOfReach { registry: self.host(), reason });
            }
            if to.scheme() != "https" && to.origin() != url.origin() {
                let hint = "it sends readers to an address without TLS, which is not followed";
                let (registry, status) = (self.host(), response.status().as_u16());
                return Err(RegistryError::Refused {
                    registry,
                    doing: "the fetch of an artifact",
                    status,
                    detail: String::new(),
                    hint,
                });
            }
            let sent = self.http.client().get(to).send().await;
            response = sent.map_err(|error| self.unreachable(&error))?;
        }
        match response.status() {
            StatusCode::OK => {
                let place = shown(&url);
                Ok(body(response, place))
            }
            StatusCode::NOT_FOUND => Err(RegistryError::Missing { registry: self.shown(), digest }),
            _ => Err(self.refused("the fetch of an artifact", response).await),
        }
    }
}

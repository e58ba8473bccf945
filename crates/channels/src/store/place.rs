//! Where channels are written: a folder, S3, or a Milepost server.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_blobs::BlobError;
use milepost_blobs::named::{Condition, Named, NamedObject, NamedRead, Replaced};
use milepost_model::Digest;
use reqwest::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use super::error::WriteError;
use super::StoreOptions;
use crate::error::ChannelError;
use crate::http::{self, Http};

const INDEX_DEADLINE: Duration = Duration::from_secs(60);
const MAX_PROBLEM: u64 = 64 << 10;
/// Far more files than any author has.
const MAX_LISTED: usize = 200_000;
const MAX_LIST_BYTES: u64 = 64 << 20;
const FILE_CHUNK: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(super) enum Place {
    Stored { named: Named, shown: String },
    Server { base: Url, shown: String, token: Option<String>, http: Http },
}

impl Place {
    pub(super) fn open(url: &str, options: &StoreOptions) -> Result<Self, WriteError> {
        let unusable = |reason: &str| {
            let place = url.split_once("://").map_or(url.to_owned(), |(scheme, _)| format!("{scheme}://…"));
            WriteError::Channel(ChannelError::Unusable { place, reason: reason.to_owned() })
        };
        if matches!(url.split_once("://"), Some(("http" | "https", _))) {
            let mut base: Url = url.parse().map_err(|_| unusable("it is not a URL; write `https://host/channels`"))?;
            base.set_query(None);
            base.set_fragment(None);
            let shown = http::shown(&base).trim_end_matches('/').to_owned();
            let http = options.http.clone().map_or_else(Http::new, Ok)?;
            return Ok(Self::Server { base, shown, token: options.token.clone(), http });
        }
        let aws = options.aws.clone().unwrap_or_else(Named::aws_variables);
        let named = Named::open(url, &aws).map_err(|error| match error {
            BlobError::Unusable { reason, .. } => unusable(&reason),
            error => unusable(&error.to_string()),
        })?;
        Ok(Self::Stored { named, shown: url.trim_end_matches('/').to_owned() })
    }

    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Stored { shown, .. } | Self::Server { shown, .. } => shown,
        }
    }

    pub(super) async fn read(&self, name: &str, limit: u64) -> Result<Option<NamedObject>, WriteError> {
        match self {
            Self::Stored { named, .. } => match named.read(name, None, limit).await {
                Ok(NamedRead::Found(object)) => Ok(Some(object)),
                Ok(NamedRead::Missing | NamedRead::NotModified) => Ok(None),
                Err(error) => Err(self.storage(error)),
            },
            Self::Server { base, http, .. } => {
                let url = url_of(base, name);
                let mut headers = HeaderMap::new();
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                let response = http.get(&url, &headers).await?;
                match response.status() {
                    StatusCode::OK => {
                        let tag = tag_of(&response).ok_or_else(|| ChannelError::Unusable {
                            place: http::shown(&url),
                            reason: "it gives no ETag, so it is not a Milepost server; publish to a folder and copy that".to_owned(),
                        })?;
                        let bytes = http::whole(response, http::shown(&url), limit).await?;
                        Ok(Some(NamedObject { bytes, tag }))
                    }
                    StatusCode::NOT_FOUND => Ok(None),
                    _ => Err(self.refused(response).await),
                }
            }
        }
    }

    pub(super) async fn replace(&self, name: &str, bytes: Bytes, when: Condition<'_>) -> Result<Replaced, WriteError> {
        match self {
            Self::Stored { named, .. } => named.replace(name, bytes, when).await.map_err(|error| self.storage(error)),
            Self::Server { base, .. } => {
                let url = url_of(base, name);
                let request = self.request(Method::PUT, &url).timeout(INDEX_DEADLINE).body(bytes);
                let request = match when {
                    Condition::Absent => request.header(IF_NONE_MATCH, "*"),
                    Condition::Tag(tag) => request.header(IF_MATCH, tag),
                };
                let response = self.send(request, &url).await?;
                match (response.status(), tag_of(&response)) {
                    (StatusCode::PRECONDITION_FAILED, _) => Ok(Replaced::Lost),
                    (StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT, Some(tag)) => {
                        Ok(Replaced::Written { tag })
                    }
                    _ => Err(self.refused(response).await),
                }
            }
        }
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, WriteError> {
        match self {
            Self::Stored { named, .. } => named.size(name).await.map_err(|error| self.storage(error)),
            Self::Server { base, .. } => {
                let url = url_of(base, name);
                let response = self.send(self.request(Method::HEAD, &url).timeout(INDEX_DEADLINE), &url).await?;
                match response.status() {
                    StatusCode::OK => {
                        let length = response.headers().get(CONTENT_LENGTH);
                        Ok(length.and_then(|length| length.to_str().ok()?.parse().ok()))
                    }
                    StatusCode::NOT_FOUND => Ok(None),
                    _ => Err(self.refused(response).await),
                }
            }
        }
    }

    /// Stores a file that is named by its digest.
    pub(super) async fn store(&self, name: &str, path: &Path, digest: Digest, size: u64) -> Result<(), WriteError> {
        let file = tokio::fs::File::open(path).await.map_err(ChannelError::File)?;
        let chunks = ReaderStream::with_capacity(file, FILE_CHUNK);
        match self {
            Self::Stored { named, .. } => {
                let bytes = chunks.map_err(|error| BlobError::Interrupted(error.into())).boxed();
                named.store(name, bytes, digest, size).await.map(drop).map_err(|error| self.storage(error))
            }
            Self::Server { base, .. } => {
                let url = url_of(base, name);
                let request = self.request(Method::PUT, &url).header(CONTENT_LENGTH, size);
                let request = request.header(CONTENT_TYPE, "application/octet-stream").body(Body::wrap_stream(chunks));
                let response = self.send(request, &url).await?;
                if response.status().is_success() { Ok(()) } else { Err(self.refused(response).await) }
            }
        }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), WriteError> {
        match self {
            Self::Stored { named, .. } => named.delete(name).await.map_err(|error| self.storage(error)),
            Self::Server { base, .. } => {
                let url = url_of(base, name);
                let response = self.send(self.request(Method::DELETE, &url).timeout(INDEX_DEADLINE), &url).await?;
                match response.status() {
                    status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
                    _ => Err(self.refused(response).await),
                }
            }
        }
    }

    /// The names of the lists, among others.
    pub(super) async fn list(&self) -> Result<Vec<String>, WriteError> {
        match self {
            Self::Stored { named, .. } => named.list(MAX_LISTED).await.map_err(|error| self.storage(error)),
            Self::Server { base, shown, .. } => {
                let response = self.send(self.request(Method::GET, base).timeout(INDEX_DEADLINE), base).await?;
                if response.status() != StatusCode::OK {
                    return Err(self.refused(response).await);
                }
                let bytes = http::whole(response, shown.clone(), MAX_LIST_BYTES).await?;
                let unusable = |_| ChannelError::Unusable {
                    place: shown.clone(),
                    reason: "it gives no list of channels, so it is not a Milepost server".to_owned(),
                };
                Ok(serde_json::from_slice(&bytes).map_err(unusable)?)
            }
        }
    }

    fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        match self {
            Self::Server { http, token, .. } => {
                let request = http.client().request(method, url.clone());
                match token {
                    Some(token) => request.bearer_auth(token),
                    None => request,
                }
            }
            // Never asked: the callers have a server.
            Self::Stored { .. } => reqwest::Client::new().request(method, url.clone()),
        }
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<Response, WriteError> {
        Ok(request.send().await.map_err(|error| http::unreachable(url, &error))?)
    }

    fn storage(&self, error: BlobError) -> WriteError {
        WriteError::Storage { place: self.shown().to_owned(), error }
    }

    async fn refused(&self, response: Response) -> WriteError {
        #[derive(Deserialize)]
        struct Problem {
            detail: String,
            hint: Option<String>,
        }
        let status = response.status().as_u16();
        let place = self.shown().to_owned();
        let bytes = http::whole(response, place.clone(), MAX_PROBLEM).await.unwrap_or_default();
        let detail = match serde_json::from_slice::<Problem>(&bytes) {
            Ok(Problem { detail, hint: Some(hint) }) => format!("{detail} Hint: {hint}"),
            Ok(Problem { detail, hint: None }) => detail,
            Err(_) => "it is not a Milepost server, or none that takes channels; publish to a folder, and copy that".to_owned(),
        };
        WriteError::Refused { place, status, detail }
    }
}

fn url_of(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{name}", base.path().trim_end_matches('/')));
    url
}

fn tag_of(response: &Response) -> Option<String> {
    response.headers().get(ETAG)?.to_str().ok().map(str::to_owned)
}

//! Where a channel is read from: a web server, a directory, S3, or a bundle.

use std::path::Path;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use milepost_blobs::BlobError;
use milepost_blobs::named::{Named, NamedRead};
use reqwest::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use reqwest::{StatusCode, Url};

use super::SourceOptions;
use crate::bundle::Bundle;
use crate::error::{ArtifactStream, ChannelError};
use crate::http::{self, Http, url_of};

#[derive(Debug, Clone)]
pub(super) enum Place {
    Web { base: Url, shown: String, http: Http },
    Stored { named: Named, shown: String },
    Bundle(Bundle),
}

pub(crate) enum FileAnswer {
    Missing,
    NotModified,
    Found { bytes: Bytes, tag: Option<String> },
}

impl Place {
    pub(super) fn open(url: &str, options: &SourceOptions) -> Result<Self, ChannelError> {
        match url.split_once("://") {
            Some(("http" | "https", _)) => web(url, options),
            Some(("s3", place)) => {
                let aws = options.aws.clone().unwrap_or_else(Named::aws_variables);
                let named = Named::open(url, &aws).map_err(|error| unusable(url, &error))?;
                Ok(Self::Stored { named, shown: format!("s3://{}", place.trim_end_matches('/')) })
            }
            Some(("file", path)) => local(path),
            Some((scheme, _)) => Err(ChannelError::Unusable {
                place: format!("{scheme}://…"),
                reason: "write `https://…`, `s3://…`, a folder, or the file of a bundle".to_owned(),
            }),
            None => local(url),
        }
    }

    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Web { shown, .. } | Self::Stored { shown, .. } => shown,
            Self::Bundle(bundle) => bundle.shown(),
        }
    }

    /// Whether the channel is on this machine, so that its author can reach other local services
    /// anyway.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Web { base, .. } => http::is_local(base),
            Self::Stored { shown, .. } => !shown.starts_with("s3://"),
            Self::Bundle(_) => false,
        }
    }

    /// The address of a channel's file, for messages.
    pub(super) fn file(&self, file: &str) -> String {
        format!("{}/{file}", self.shown())
    }

    pub(super) async fn read(&self, file: &str, known: Option<&str>, limit: u64) -> Result<FileAnswer, ChannelError> {
        match self {
            Self::Web { base, http, .. } => read_web(http, &url_of(base, file), known, limit).await,
            Self::Stored { named, .. } => match named.read(file, known, limit).await {
                Ok(NamedRead::Missing) => Ok(FileAnswer::Missing),
                Ok(NamedRead::NotModified) => Ok(FileAnswer::NotModified),
                Ok(NamedRead::Found(object)) => Ok(FileAnswer::Found { bytes: object.bytes, tag: Some(object.tag) }),
                Err(BlobError::TooLarge { limit, .. }) => Err(ChannelError::TooLarge { place: self.file(file), limit }),
                Err(error) => Err(ChannelError::Storage(error)),
            },
            Self::Bundle(bundle) => bundle.read(file, known, limit).await,
        }
    }

    pub(super) async fn stream(&self, file: &str) -> Result<Option<ArtifactStream>, ChannelError> {
        match self {
            Self::Web { base, http, .. } => {
                let url = url_of(base, file);
                let response = http.get(&url, &HeaderMap::new()).await?;
                match response.status() {
                    StatusCode::OK => Ok(Some(http::body(response, http::shown(&url)))),
                    StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
                    status => Err(ChannelError::Status { place: http::shown(&url), status: status.as_u16() }),
                }
            }
            Self::Stored { named, .. } => {
                let found = named.stream(file).await.map_err(ChannelError::Storage)?;
                Ok(found.map(|found| found.bytes.map_err(ChannelError::Storage).boxed()))
            }
            Self::Bundle(bundle) => bundle.stream(file).await,
        }
    }
}

fn web(url: &str, options: &SourceOptions) -> Result<Place, ChannelError> {
    let unusable = |reason: &str| ChannelError::Unusable { place: url.to_owned(), reason: reason.to_owned() };
    let mut base: Url = url.parse().map_err(|_| unusable("it is not a URL; write `https://host/package/channel`"))?;
    base.set_query(None);
    base.set_fragment(None);
    // Users may paste the address of one of the files.
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/latest").or_else(|| path.strip_suffix("/all")).unwrap_or(path).to_owned();
    base.set_path(&path);
    let http = options.http.clone().map_or_else(Http::new, Ok)?;
    if let Some(reason) = http.reach().refuses_place(&base) {
        return Err(unusable(reason));
    }
    Ok(Place::Web { shown: http::shown(&base).trim_end_matches('/').to_owned(), base, http })
}

fn local(path: &str) -> Result<Place, ChannelError> {
    if Path::new(path).is_file() {
        return Ok(Place::Bundle(Bundle::open(Path::new(path))?));
    }
    let named = Named::folder(Path::new(path)).map_err(|error| unusable(path, &error))?;
    Ok(Place::Stored { named, shown: path.trim_end_matches('/').to_owned() })
}

fn unusable(place: &str, error: &BlobError) -> ChannelError {
    match error {
        BlobError::Unusable { url, reason } => ChannelError::Unusable { place: url.clone(), reason: reason.clone() },
        error => ChannelError::Unusable { place: place.to_owned(), reason: error.to_string() },
    }
}

async fn read_web(http: &Http, url: &Url, known: Option<&str>, limit: u64) -> Result<FileAnswer, ChannelError> {
    let mut headers = HeaderMap::new();
    // Caches must revalidate their copy with the server.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(tag) = known.and_then(|tag| HeaderValue::from_str(tag).ok()) {
        headers.insert(IF_NONE_MATCH, tag);
    }
    let response = http.get(url, &headers).await?;
    match response.status() {
        StatusCode::OK => {
            let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            Ok(FileAnswer::Found { bytes: http::whole(response, http::shown(url), limit).await?, tag })
        }
        StatusCode::NOT_MODIFIED if known.is_some() => Ok(FileAnswer::NotModified),
        StatusCode::NOT_FOUND | StatusCode::GONE => Ok(FileAnswer::Missing),
        status => Err(ChannelError::Status { place: http::shown(url), status: status.as_u16() }),
    }
}

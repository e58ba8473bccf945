use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use milepost_blobs::named::{NamedRead, content_type};
use milepost_model::channel::index::MAX_ALL_BYTES;
use tokio::sync::Semaphore;

use super::path::{ChannelFile, Kind, not_there, tags};
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Limits concurrent reads of index files. They are read into memory, and from a directory also
/// hashed for their ETag, and anyone may request them.
static READS: Semaphore = Semaphore::const_new(16);

/// Serves a file of a channel without authentication. Index files must be revalidated on every
/// request; artifacts are immutable.
pub(crate) async fn channels_get(
    state: Shared,
    method: Method,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let file = ChannelFile::parse(&path)?;
    let known = tags(&headers, &IF_NONE_MATCH);
    let (tag, size, body, cache) = match file.kind {
        Kind::Artifact(digest) => {
            let tag = format!("\"{}\"", digest.hex());
            let cache = "public, max-age=31536000, immutable";
            if method == Method::HEAD || known.contains(&tag.as_str()) {
                let size = state.content.channels.size(&file.name).await?.ok_or_else(|| not_there(&path))?;
                (tag, size, Body::empty(), cache)
            } else {
                let stream = state.content.channels.stream(&file.name).await?.ok_or_else(|| not_there(&path))?;
                (tag, stream.size, Body::from_stream(stream.bytes), cache)
            }
        }
        Kind::All | Kind::Latest | Kind::Signature => {
            // Some stores compare ETags themselves, and send nothing if the client has the file.
            let only = if let [only] = known.as_slice() { Some(*only).filter(|tag| *tag != "*") } else { None };
            let _turn = READS.acquire().await;
            match (state.content.channels.read(&file.name, only, MAX_ALL_BYTES as u64).await?, only) {
                (NamedRead::Found(object), _) => {
                    let size = object.bytes.len() as u64;
                    let body = if method == Method::HEAD { Body::empty() } else { Body::from(object.bytes) };
                    (object.tag, size, body, "no-cache")
                }
                (NamedRead::NotModified, Some(tag)) => (tag.to_owned(), 0, Body::empty(), "no-cache"),
                (NamedRead::Missing | NamedRead::NotModified, _) => return Err(not_there(&path).into()),
            }
        }
    };
    let same = known.contains(&tag.as_str()) || known.contains(&"*");
    let mut response = match same {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false if method == Method::HEAD => StatusCode::OK.into_response(),
        false => body.into_response(),
    };
    let headers = response.headers_mut();
    if !same {
        headers.insert(CONTENT_LENGTH, size.into());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(&file.name)));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    Ok(response)
}

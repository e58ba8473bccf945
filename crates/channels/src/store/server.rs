//! The channels of a Milepost server, by its address and a token.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use milepost_blobs::named::{Condition, NamedObject, Replaced};
use reqwest::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH,
};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use super::StoreOptions;
use super::error::WriteError;
use crate::error::ChannelError;
use crate::http::{self, Http};

const INDEX_DEADLINE: Duration = Duration::from_secs(60);
const MAX_PROBLEM: u64 = 64 << 10;
const MAX_LIST_BYTES: u64 = 64 << 20;
const FILE_CHUNK: usize = 256 << 10;

#[derive(Debug, Clone)]
pub(super) struct Server {
    base: Url,
    shown: String,
    token: Option<String>,
    http: Http,
}

impl Server {
    pub(super) fn open(url: &str, options: &StoreOptions) -> Result<Self, WriteError> {
        let mut base: Url = url.parse().map_err(|_| ChannelError::Unusable {
            place: url.to_owned(),
            reason: "it is not a URL; write `https://host/channels`".to_owned(),
        })?;
        base.set_query(None);
        base.set_fragment(None);
        let shown = http::shown(&base).trim_end_matches('/').to_owned();
        let http = options.http.clone().map_or_else(Http::new, Ok)?;
        Ok(Self { base, shown, token: options.token.clone(), http })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) async fn read(&self, name: &str, limit: u64) -> Result<Option<NamedObject>, WriteError> {
        let url = self.url(name);
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let response = self.http.get(&url, &headers).await?;
        match response.status() {
            StatusCode::OK => {
                let tag = tag_of(&response).ok_or_else(|| {
                    self.not_ours("it gives no ETag, so it is not a Milepost server; publish to a folder and copy that")
                })?;
                let bytes = http::whole(response, http::shown(&url), limit).await?;
                Ok(Some(NamedObject { bytes, tag }))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(response).await),
        }
    }

    pub(super) async fn replace(&self, name: &str, bytes: Bytes, when: Condition<'_>) -> Result<Replaced, WriteError> {
        let request = self.put(self.url(name), bytes.len() as u64).body(bytes);
        let request = match when {
            Condition::Absent => request.header(IF_NONE_MATCH, "*"),
            Condition::Tag(tag) => request.header(IF_MATCH, tag),
        };
        let response = self.send(request).await?;
        match (response.status(), tag_of(&response)) {
            (StatusCode::PRECONDITION_FAILED, _) => Ok(Replaced::Lost),
            (StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT, Some(tag)) => Ok(Replaced::Written { tag }),
            _ => Err(self.refused(response).await),
        }
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, WriteError> {
        let response = self.send(self.request(Method::HEAD, &self.url(name))).await?;
        match response.status() {
            StatusCode::OK => {
                let length = response.headers().get(CONTENT_LENGTH);
                Ok(length.and_then(|length| length.to_str().ok()?.parse().ok()))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(response).await),
        }
    }

    pub(super) async fn store(&self, name: &str, path: &Path, size: u64) -> Result<(), WriteError> {
        let file = tokio::fs::File::open(path).await.map_err(ChannelError::File)?;
        let body = Body::wrap_stream(ReaderStream::with_capacity(file, FILE_CHUNK));
        let request = self.put(self.url(name), size).header(CONTENT_LENGTH, size);
        let response = self.send(request.header(CONTENT_TYPE, "application/octet-stream").body(body)).await?;
        if response.status().is_success() { Ok(()) } else { Err(self.refused(response).await) }
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), WriteError> {
        let response = self.send(self.request(Method::DELETE, &self.url(name))).await?;
        match response.status() {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(response).await),
        }
    }

    /// Lists the names of the lists.
    pub(super) async fn list(&self) -> Result<Vec<String>, WriteError> {
        let response = self.send(self.request(Method::GET, &self.base)).await?;
        if response.status() != StatusCode::OK {
            return Err(self.refused(response).await);
        }
        let bytes = http::whole(response, self.shown.clone(), MAX_LIST_BYTES).await?;
        let not_ours = |_| self.not_ours("it gives no list of channels, so it is not a Milepost server");
        Ok(serde_json::from_slice(&bytes).map_err(not_ours)?)
    }

    fn url(&self, name: &str) -> Url {
        http::url_of(&self.base, name)
    }

    fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        self.with_token(self.http.client().request(method, url.clone()).timeout(INDEX_DEADLINE))
    }

    /// A `PUT` with a body of this size.
    fn put(&self, url: Url, size: u64) -> RequestBuilder {
        self.with_token(self.http.sending(Method::PUT, url, size))
    }

    fn with_token(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, WriteError> {
        Ok(request.send().await.map_err(|error| http::unreachable(&self.base, &error))?)
    }

    fn not_ours(&self, reason: &str) -> ChannelError {
        ChannelError::Unusable { place: self.shown.clone(), reason: reason.to_owned() }
    }

    async fn refused(&self, response: Response) -> WriteError {
        #[derive(Deserialize)]
        struct Problem {
            detail: String,
            hint: Option<String>,
        }
        let status = response.status().as_u16();
        let place = self.shown.clone();
        let bytes = http::whole(response, place.clone(), MAX_PROBLEM).await.unwrap_or_default();
        let (detail, hint) = match serde_json::from_slice::<Problem>(&bytes) {
            Ok(Problem { detail, hint }) => (detail, hint),
            Err(_) => (
                "it is not a Milepost server, or none that takes channels".to_owned(),
                Some("publish to a folder, and copy that".to_owned()),
            ),
        };
        let detail = detail.trim_end_matches('.').to_owned();
        WriteError::Refused { place, status, detail, hint: hint.unwrap_or_else(|| "its log has the cause".to_owned()) }
    }
}

fn tag_of(response: &Response) -> Option<String> {
    response.headers().get(ETAG)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::http::Deadlines;

    const SILENCE: Duration = Duration::from_millis(200);
    /// More than the buffers of two sockets hold.
    const SIZE: usize = 32 << 20;

    /// Reads one request with a pause before each part of its body, and responds when it is
    /// complete.
    async fn take_slowly(listener: TcpListener, pause: Duration) {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut part = vec![0; 2 << 20];
        let mut got = 0;
        while got < SIZE {
            tokio::time::sleep(pause).await;
            match stream.read(&mut part).await {
                Ok(read) if read > 0 => got += read,
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        // Keeps the connection open until the client has read the response.
        let _ = stream.read(&mut part).await;
    }

    async fn upload(deadlines: Deadlines, pause: Duration) -> Result<(), WriteError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/channels", listener.local_addr().expect("an address"));
        let taking = tokio::spawn(take_slowly(listener, pause));
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(SIZE as u64).expect("its size");
        let http = Some(Http::with(deadlines).expect("a client"));
        let server = Server::open(&url, &StoreOptions { http, ..StoreOptions::default() }).expect("a server");
        let stored = server.store("shop/stable/artifacts/ab", file.path(), SIZE as u64).await;
        taking.abort();
        stored
    }

    #[tokio::test]
    async fn upload_may_take_longer_than_the_silence_limit() {
        let deadlines = Deadlines { silence: SILENCE, ..Deadlines::default() };
        let began = std::time::Instant::now();
        upload(deadlines, SILENCE / 8).await.expect("stored");
        assert!(began.elapsed() > SILENCE, "it was too fast to show anything");
    }
}

//! What the gateway needs from its host program.

use std::future::Future;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use milepost_model::Digest;

use crate::view::AppView;

/// The server, as the gateway sees it. Generic, so that a call is not boxed.
pub trait Backend: Send + Sync + 'static {
    /// A function as bound by a release.
    type Function: Send + Sync + 'static;
    type Body: http_body::Body<Data = Bytes> + Send + Unpin + 'static;

    /// Runs a function. The request's headers are already cleaned.
    fn call(
        &self,
        function: &Arc<Self::Function>,
        request: http::Request<crate::RequestBody>,
        context: CallContext,
    ) -> impl Future<Output = Result<http::Response<Self::Body>, CallFailure>> + Send;

    /// Reads a small file in full.
    fn read(&self, file: &FileRef) -> impl Future<Output = std::io::Result<Bytes>> + Send;

    /// Streams a part of a file of any size, with bounded memory.
    fn stream(
        &self,
        file: &FileRef,
        range: Range<u64>,
    ) -> impl Future<Output = std::io::Result<BoxStream<'static, std::io::Result<Bytes>>>> + Send;

    /// Loads the view of an app that the gateway has not seen yet. Returns `None` if the app does
    /// not exist.
    fn load(&self, app: &str)
    -> impl Future<Output = Result<Option<Arc<AppView<Self::Function>>>, LoadFailure>> + Send;

    /// Whether a bearer token may call functions of the app; `None` for an unknown token. Looked up
    /// in memory.
    fn may_invoke(&self, app: &str, token: &str) -> Option<bool>;

    /// Returns the app and release that a call token grants access to, if it is genuine and not
    /// expired.
    fn open_call_token(&self, token: &str) -> Option<CallScope>;

    fn make_call_token(&self, app: &str, release: &str) -> Box<str>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallScope {
    pub app: Box<str>,
    pub release: Box<str>,
}

/// Facts about a request that are not in its headers.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    pub request_id: Box<str>,
    pub release: Box<str>,
    pub client: Option<IpAddr>,
    /// The pattern of the route that matched; empty for calls by name.
    pub route: Box<str>,
    pub params: Vec<(Box<str>, Box<str>)>,
    pub call_token: Box<str>,
}

/// Why a call returned no response.
#[derive(Debug, Clone)]
pub struct CallFailure {
    pub status: u16,
    /// A stable identifier.
    pub code: &'static str,
    pub message: String,
    pub retry_after: Option<Duration>,
}

/// The database could not be queried.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LoadFailure(pub String);

/// Where the bytes of a file are. Only the backend interprets `pack` and `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRef {
    pub digest: Digest,
    pub size: u64,
    pub pack: [u8; 16],
    pub offset: u64,
}

//! Handles a request from its head to its response.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::request::Parts;
use http::{HeaderValue, Request, StatusCode, header};
use milepost_model::host;
use smol_str::SmolStr;

use crate::backend::Backend;
use crate::body::{RequestBody, ResponseBody};
use crate::call::Call;
use crate::connection_limit::ConnectionSlot;
use crate::decide::{Decision, decide};
use crate::directory::Directory;
use crate::files::{FileCache, FileResponse};
use crate::head_check;
use crate::problem::{MILEPOST_CALL, Problem};
use crate::reader::Reader;
use crate::resolve::{Destination, Resolved, Wanted};
pub(crate) use crate::response_future::ResponseFuture;
use crate::settings::Settings;
use crate::stats::{Counters, Stats};

/// The data plane of one node. Cheap to clone.
pub struct Gateway<B: Backend> {
    pub(crate) inner: Arc<Inner<B>>,
}

impl<B: Backend> Clone for Gateway<B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

pub(crate) struct Inner<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) settings: Settings,
    pub(crate) domain: String,
    pub(crate) directory: Arc<Directory<B::Function>>,
    files: Arc<FileCache<B>>,
    unmatched: Counters,
    pub(crate) connections: AtomicUsize,
    pub(crate) draining: AtomicBool,
}

#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("`{0}` is not a domain: write it like `example.com`, without a port")]
    Domain(String),
    #[error("`{0}` cannot be sent as `cache-control`")]
    CacheControl(String),
    #[error("the cache folder {} cannot be used", folder.display())]
    CacheFolder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Where a request came from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peer {
    pub address: Option<IpAddr>,
    /// The request came over TLS.
    pub secure: bool,
    /// The request came to the inside listener, for calls between functions.
    pub inside: bool,
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self { address: Some(address.ip()), ..Self::default() }
    }
}

impl<B: Backend> Gateway<B> {
    pub fn new(settings: Settings, backend: Arc<B>) -> Result<Self, GatewayError> {
        let wrong = || GatewayError::Domain(settings.domain.clone());
        let domain = host::normalise(settings.domain.as_bytes()).ok_or_else(wrong)?.into_owned();
        if domain.len() + 1 < settings.domain.len() || domain.starts_with(['.', '[']) {
            return Err(wrong());
        }
        let cache_control = HeaderValue::from_str(&settings.cache_control)
            .map_err(|_| GatewayError::CacheControl(settings.cache_control.clone()))?;
        let files = FileCache::open(&settings, cache_control, backend.clone()).map_err(|source| {
            let folder = settings.cache_folder.clone().unwrap_or_default();
            GatewayError::CacheFolder { folder, source }
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                backend,
                settings,
                domain,
                directory: Arc::default(),
                files: Arc::new(files),
                unmatched: Counters::default(),
                connections: AtomicUsize::new(0),
                draining: AtomicBool::new(false),
            }),
        })
    }

    pub fn directory(&self) -> &Arc<Directory<B::Function>> {
        &self.inner.directory
    }

    pub fn stats(&self) -> Stats {
        let inner = &self.inner;
        Stats {
            connections: inner.connections.load(Ordering::Relaxed),
            unmatched: inner.unmatched.read(),
            apps: inner.directory.counters().map(|(app, counters)| (app, counters.read())).collect(),
            cached_bytes: inner.files.bytes_in_memory(),
        }
    }

    /// Handles a request from any source.
    pub fn handle(&self, request: Request<impl Into<RequestBody>>, peer: impl Into<Peer>) -> ResponseFuture<B> {
        let (parts, body) = request.into_parts();
        IncomingRequest { head: RequestHead::new(parts, peer.into()), body: body.into() }.answer(&self.inner)
    }
}

pub(crate) struct IncomingRequest {
    pub(crate) head: RequestHead,
    pub(crate) body: RequestBody,
}

/// Everything that is known about a request before its body.
pub(crate) struct RequestHead {
    pub(crate) parts: Parts,
    pub(crate) peer: Peer,
    /// The normalised host; empty if there is none. Normalised once, and short ones are inline.
    pub(crate) host: SmolStr,
}

impl RequestHead {
    pub(crate) fn new(parts: Parts, peer: Peer) -> Self {
        let host = sent_host(&parts).and_then(host::normalise).map(SmolStr::from).unwrap_or_default();
        Self { parts, peer, host }
    }

    /// Returns the host as it was sent.
    pub(crate) fn sent_host(&self) -> Option<&[u8]> {
        sent_host(&self.parts)
    }
}

/// The URI's authority takes precedence over the header, and several `Host` headers count as none.
fn sent_host(parts: &Parts) -> Option<&[u8]> {
    if let Some(authority) = parts.uri.authority() {
        return Some(authority.as_str().as_bytes());
    }
    let mut all = parts.headers.get_all(header::HOST).iter();
    let first = all.next()?;
    all.next().is_none().then_some(first.as_bytes())
}

impl IncomingRequest {
    fn answer<B: Backend>(self, inner: &Arc<Inner<B>>) -> ResponseFuture<B> {
        let wanted = match self.wanted(inner) {
            Ok(wanted) => wanted,
            Err(problem) => return self.refuse(inner, problem),
        };
        match inner.resolve(wanted) {
            Resolved::At(destination) => self.serve(inner, destination),
            Resolved::Not(problem) => self.refuse(inner, problem),
            Resolved::Unknown => {
                let inner = inner.clone();
                ResponseFuture::later(async move {
                    let loaded = match self.wanted(&inner) {
                        Ok(wanted) => inner.load(wanted).await,
                        Err(problem) => Err(problem),
                    };
                    match loaded {
                        Ok(destination) => self.serve(&inner, destination).await,
                        Err(problem) => self.refuse(&inner, problem).await,
                    }
                })
            }
        }
    }

    fn wanted<B: Backend>(&self, inner: &Inner<B>) -> Result<Wanted<'_>, Problem> {
        let RequestHead { parts, peer, host } = &self.head;
        let path = parts.uri.path();
        let own = || own(path, inner.draining.load(Ordering::Relaxed));
        if !peer.inside {
            head_check::check(parts)?;
            // Calls by name are accepted from inside only.
            if is_own(path) {
                return Err(own());
            }
            if host.is_empty() {
                return Err(no_host());
            }
            return Ok(Wanted { head: &self.head, scope: None });
        }
        let token = parts.headers.get(MILEPOST_CALL).and_then(|token| token.to_str().ok());
        let scope = token.and_then(|token| inner.backend.open_call_token(token)).ok_or_else(bad_call_token)?;
        if let Some(slot) = parts.extensions.get::<ConnectionSlot>() {
            slot.authenticate(&scope.app);
        }
        head_check::check(parts)?;
        if is_own(path) && !path.starts_with(CALL_PATH) {
            return Err(own());
        }
        Ok(Wanted { head: &self.head, scope: Some(scope) })
    }

    fn serve<B: Backend>(self, inner: &Arc<Inner<B>>, destination: Destination<B::Function>) -> ResponseFuture<B> {
        let counters = destination.counters.clone();
        let choice = destination.chosen.headers();
        let RequestHead { parts, host, .. } = &self.head;
        let decision = decide(&destination.chosen.release, &parts.method, &parts.uri, host);
        let response = match decision {
            Decision::File(file, status, cache_control) => {
                let Parts { method, headers, .. } = self.head.parts;
                FileResponse::new(file, status, &method, headers).cached(cache_control).start(&inner.files)
            }
            Decision::Function(found) => {
                let call = Call { request: self, destination, found };
                let inner = inner.clone();
                ResponseFuture::later(async move { call.run(&inner).await })
            }
            Decision::Problem(problem) => ResponseFuture::ready(self.respond(inner, problem)),
        };
        response.counted_by(counters).chosen_by(choice)
    }

    fn refuse<B: Backend>(self, inner: &Inner<B>, problem: Problem) -> ResponseFuture<B> {
        inner.unmatched.count(problem.status);
        ResponseFuture::ready(self.respond(inner, problem))
    }

    pub(crate) fn respond<B: Backend>(
        &self,
        inner: &Inner<B>,
        problem: Problem,
    ) -> http::Response<ResponseBody<B::Body>> {
        problem.into_response(&self.reader(), inner.settings.operator_words)
    }

    pub(crate) fn reader(&self) -> Reader {
        let RequestHead { parts, peer, .. } = &self.head;
        Reader::of(&parts.headers, &parts.method, peer)
    }
}

pub(crate) const CALL_PATH: &str = "/.milepost/call/";

fn is_own(path: &str) -> bool {
    path.strip_prefix("/.milepost").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers the gateway's own paths.
fn own(path: &str, draining: bool) -> Problem {
    match path {
        "/.milepost/health" if draining => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "The server is stopping.")
        }
        "/.milepost/health" => Problem::new(StatusCode::OK, "ok", "The gateway is ready."),
        _ => Problem::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this path.")
            .hint("paths that begin with `/.milepost` are reserved for the gateway"),
    }
}

fn no_host() -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad_host", "The request names no host.")
        .hint("send one `Host` header with the name of an app below the domain")
}

fn bad_call_token() -> Problem {
    let detail = "The call token is missing, invalid or expired.";
    Problem::new(StatusCode::UNAUTHORIZED, "bad_call_token", detail)
        .hint("pass on the `milepost-call` header of the request that the function handles")
}

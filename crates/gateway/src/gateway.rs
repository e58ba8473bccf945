//! From a request to its answer.

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, header};

pub(crate) use crate::answering::Answering;
use crate::answers::{MILEPOST_CALL, MILEPOST_RELEASE, Problem};
use crate::backend::{Backend, CallScope, LoadFailure};
use crate::body::{AnswerBody, RequestBody};
use crate::call::Call;
use crate::decide::{Decision, decide};
use crate::directory::{Directory, Slot};
use crate::files::{Sending, Store};
use crate::host::{self, Candidate, Named};
use crate::settings::Settings;
use crate::stats::{Counters, Stats};
use crate::view::{AppView, ReleaseView};

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
    domain: String,
    pub(crate) directory: Arc<Directory<B::Function>>,
    files: Arc<Store<B>>,
    elsewhere: Counters,
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

/// Who sent a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peer {
    pub address: Option<IpAddr>,
    /// It came over TLS.
    pub secure: bool,
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self { address: Some(address.ip()), secure: false }
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
        let files = Store::open(&settings, cache_control, backend.clone()).map_err(|source| {
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
                elsewhere: Counters::default(),
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
            elsewhere: inner.elsewhere.read(),
            apps: inner.directory.each(|app, slot| (Box::<str>::from(app), slot.counters.read())).collect(),
            cached_bytes: inner.files.bytes_in_memory(),
        }
    }

    /// Answers a request, wherever it came from.
    pub fn handle(&self, request: Request<impl Into<RequestBody>>, peer: impl Into<Peer>) -> Answering<B> {
        let (head, body) = request.into_parts();
        Asked { head, body: body.into(), peer: peer.into() }.answer(&self.inner)
    }
}

/// A request with who sent it.
pub(crate) struct Asked {
    pub(crate) head: Parts,
    pub(crate) body: RequestBody,
    pub(crate) peer: Peer,
}

/// What a request is about, read from its head.
struct Wanted<'h> {
    host: Cow<'h, str>,
    /// A call from inside of a release: the host does not matter.
    scope: Option<CallScope>,
}

/// Where a request is served.
pub(crate) struct Place<F> {
    pub(crate) slot: Arc<Slot<F>>,
    pub(crate) app: Arc<AppView<F>>,
    pub(crate) release: Arc<ReleaseView<F>>,
    pub(crate) scope: Option<CallScope>,
}

enum Resolved<F> {
    At(Place<F>),
    /// An app is not in memory; it may exist nevertheless.
    Unknown,
    Not(Problem),
}

impl Asked {
    fn answer<B: Backend>(self, inner: &Arc<Inner<B>>) -> Answering<B> {
        let wanted = match self.wanted(inner) {
            Ok(wanted) => wanted,
            Err(problem) => return self.refuse(inner, problem),
        };
        match inner.resolve(wanted) {
            Resolved::At(place) => self.serve(inner, place),
            Resolved::Not(problem) => self.refuse(inner, problem),
            Resolved::Unknown => {
                let inner = inner.clone();
                Answering::later(async move {
                    let loaded = match self.wanted(&inner) {
                        Ok(wanted) => inner.load(wanted).await,
                        Err(problem) => Err(problem),
                    };
                    match loaded {
                        Ok(place) => self.serve(&inner, place).await,
                        Err(problem) => self.refuse(&inner, problem).await,
                    }
                })
            }
        }
    }

    fn wanted<B: Backend>(&self, inner: &Inner<B>) -> Result<Wanted<'_>, Problem> {
        let path = self.head.uri.path();
        if path.starts_with("/.milepost") && !path.starts_with(CALL_PATH) {
            return Err(own(path, inner.draining.load(Ordering::Relaxed)));
        }
        let scope = match self.head.headers.get(MILEPOST_CALL) {
            Some(token) => {
                let scope = token.to_str().ok().and_then(|token| inner.backend.open_call_token(token));
                Some(scope.ok_or_else(bad_call_token)?)
            }
            None if path.starts_with(CALL_PATH) => return Err(bad_call_token()),
            None => None,
        };
        let host = self.host().and_then(host::normalise);
        match (host, scope) {
            (Some(host), scope) => Ok(Wanted { host, scope }),
            (None, scope @ Some(_)) => Ok(Wanted { host: Cow::Borrowed(""), scope }),
            (None, None) => Err(Problem::new(StatusCode::BAD_REQUEST, "bad_host", "The request names no host.")
                .hint("send one `Host` header with the name of an app below the domain")),
        }
    }

    /// As it was sent. The address of the request goes before the header; two headers are as good as none.
    pub(crate) fn host(&self) -> Option<&[u8]> {
        if let Some(authority) = self.head.uri.authority() {
            return Some(authority.as_str().as_bytes());
        }
        let mut all = self.head.headers.get_all(header::HOST).iter();
        let first = all.next()?;
        all.next().is_none().then_some(first.as_bytes())
    }

    fn serve<B: Backend>(self, inner: &Arc<Inner<B>>, place: Place<B::Function>) -> Answering<B> {
        let slot = place.slot.clone();
        let host = self.host().and_then(host::normalise).unwrap_or_default();
        let decision = decide(&place.release, &self.head.method, &self.head.uri, &host);
        let answering = match decision {
            Decision::File(file, status) => {
                let release = place.release.header.clone();
                Sending::new(file, status, release, &self.head.method, self.head.headers).start(&inner.files)
            }
            Decision::Function(found) => {
                let call = Call { asked: self, place, found };
                let inner = inner.clone();
                Answering::later(async move { call.run(&inner).await })
            }
            Decision::Problem(problem) => {
                let problem = problem.header(MILEPOST_RELEASE, place.release.header.clone());
                Answering::ready(self.say(problem))
            }
        };
        answering.of(slot)
    }

    fn refuse<B: Backend>(self, inner: &Inner<B>, problem: Problem) -> Answering<B> {
        inner.elsewhere.count(problem.status);
        Answering::ready(self.say(problem))
    }

    pub(crate) fn say<B>(&self, problem: Problem) -> http::Response<AnswerBody<B>> {
        problem.answer(&self.head.headers, self.head.method == Method::HEAD)
    }
}

pub(crate) const CALL_PATH: &str = "/.milepost/call/";

/// The gateway's own paths.
fn own(path: &str, draining: bool) -> Problem {
    match path {
        "/.milepost/health" if draining => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "The server is stopping.")
        }
        "/.milepost/health" => Problem::new(StatusCode::OK, "ok", "The gateway serves."),
        _ => Problem::new(StatusCode::NOT_FOUND, "not_found", "Nothing is at this path of the gateway.")
            .hint("paths that begin with /.milepost are the gateway's own"),
    }
}

fn bad_call_token() -> Problem {
    let detail = "The call token is missing, not genuine or too old.";
    Problem::new(StatusCode::UNAUTHORIZED, "bad_call_token", detail)
        .hint("functions find theirs in each request; it is sent on as `milepost-call`")
}

impl<B: Backend> Inner<B> {
    fn resolve(&self, wanted: Wanted<'_>) -> Resolved<B::Function> {
        let mut verdict = Verdict::default();
        if let Some(scope) = wanted.scope {
            let candidate = Candidate { app: &scope.app, release: Some(&scope.release) };
            return match self.look_up(&candidate, &mut verdict) {
                Ok(Some(mut place)) => {
                    place.scope = Some(scope);
                    Resolved::At(place)
                }
                Ok(None) => Resolved::Not(verdict.problem()),
                Err(NotInMemory) => Resolved::Unknown,
            };
        }
        let address = match host::parse(&wanted.host, &self.domain) {
            Named::App(address) => address,
            Named::Domain | Named::Elsewhere => return Resolved::Not(self.no_app(&wanted.host)),
        };
        for candidate in address.candidates() {
            match self.look_up(&candidate, &mut verdict) {
                Ok(Some(place)) => return Resolved::At(place),
                Ok(None) => {}
                Err(NotInMemory) => return Resolved::Unknown,
            }
        }
        Resolved::Not(verdict.problem())
    }

    fn look_up(
        &self,
        candidate: &Candidate<'_>,
        verdict: &mut Verdict,
    ) -> Result<Option<Place<B::Function>>, NotInMemory> {
        let slot = self.directory.slot(candidate.app);
        let Some((slot, app)) = slot.and_then(|slot| slot.view().map(|view| (slot, view))) else {
            if !self.directory.is_absent(candidate.app) {
                return Err(NotInMemory);
            }
            verdict.unknown_app(candidate.app);
            return Ok(None);
        };
        match choose(&app, candidate.release) {
            Ok(release) => Ok(Some(Place { slot, app, release, scope: None })),
            Err(problem) => {
                verdict.add(problem);
                Ok(None)
            }
        }
    }

    /// Like `resolve`, for apps that were not in memory.
    async fn load(&self, wanted: Wanted<'_>) -> Result<Place<B::Function>, Problem> {
        if let Some(scope) = &wanted.scope {
            self.load_app(&scope.app).await?;
        } else if let Named::App(address) = host::parse(&wanted.host, &self.domain) {
            for candidate in address.candidates() {
                let found = self.load_app(candidate.app).await?;
                if found.is_some_and(|app| choose(&app, candidate.release).is_ok()) {
                    break;
                }
            }
        }
        match self.resolve(wanted) {
            Resolved::At(place) => Ok(place),
            Resolved::Not(problem) => Err(problem),
            // It was removed, or not remembered as absent, in between.
            Resolved::Unknown => Err(Verdict::default().problem()),
        }
    }

    async fn load_app(&self, app: &str) -> Result<Option<Arc<AppView<B::Function>>>, Problem> {
        self.directory.get_or_load(&self.backend, app).await.map_err(|LoadFailure(reason)| {
            tracing::warn!(reason, app, "an app could not be loaded");
            let detail = "The app cannot be looked up at the moment.";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
                .hint("try again in a moment")
                .header(header::RETRY_AFTER, HeaderValue::from_static("1"))
        })
    }

    fn no_app(&self, host: &str) -> Problem {
        let domain = &self.domain;
        Problem::new(StatusCode::NOT_FOUND, "no_app", format!("No app is served at {host}."))
            .hint(format!("apps are at APP.{domain}, their releases at APP.RELEASE.{domain} or RELEASE--APP.{domain}"))
    }
}

struct NotInMemory;

/// The best reason why no reading of an address led anywhere.
#[derive(Default)]
struct Verdict(Option<Problem>);

impl Verdict {
    fn add(&mut self, problem: Problem) {
        // What is gone is a better reason than what never was, and a release a better one than an app.
        let weight = |problem: &Problem| match problem.code {
            "release_expired" => 3,
            "unknown_app" => 1,
            _ => 2,
        };
        if self.0.as_ref().is_none_or(|known| weight(&problem) > weight(known)) {
            self.0 = Some(problem);
        }
    }

    fn unknown_app(&mut self, app: &str) {
        self.add(
            Problem::new(StatusCode::NOT_FOUND, "unknown_app", format!("There is no app `{app}`."))
                .hint("check the name; `milepost deploy` makes an app"),
        );
    }

    fn problem(self) -> Problem {
        self.0.unwrap_or_else(|| Problem::new(StatusCode::NOT_FOUND, "unknown_app", "There is no such app."))
    }
}

/// The release that is asked for; live without a name.
fn choose<F>(app: &AppView<F>, release: Option<&str>) -> Result<Arc<ReleaseView<F>>, Problem> {
    let none = |what: &str| {
        let detail = format!("The app `{}` has {what} release.", app.app);
        Problem::new(StatusCode::NOT_FOUND, "no_release", detail).hint("`milepost release list` shows what there is")
    };
    match release {
        None | Some("live") => app.live.clone().ok_or_else(|| none("no live")),
        Some("latest") => app.latest.clone().ok_or_else(|| none("no active")),
        Some(name) => app.releases.get(name).cloned().ok_or_else(|| match app.expired.get(name) {
            Some(at) => {
                let detail = format!("The release `{name}` of the app `{}` expired at {at}.", app.app);
                Problem::new(StatusCode::GONE, "release_expired", detail)
                    .hint("its app version can be released again with `milepost release create`")
            }
            None => {
                let detail = format!("The app `{}` has no release or tag `{name}`.", app.app);
                Problem::new(StatusCode::NOT_FOUND, "unknown_release", detail)
                    .hint("`milepost release list` shows what there is")
            }
        }),
    }
}

//! Resolves a host name or a call token to a release.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderValue, StatusCode, header};
use milepost_model::host::{self, Candidate, Named};

use crate::backend::{Backend, CallScope, LoadFailure};
use crate::gateway::Inner;
use crate::problem::{MILEPOST_RELEASE, Problem};
use crate::stats::Counters;
use crate::view::{AppView, ReleaseView};

/// What a request asks for, from its head.
pub(crate) struct Wanted<'h> {
    pub(crate) host: Cow<'h, str>,
    /// Set for a call from inside a release: the host is ignored.
    pub(crate) scope: Option<CallScope>,
}

/// Where a request is served.
pub(crate) struct Destination<F> {
    pub(crate) counters: Arc<Counters>,
    pub(crate) app: Arc<AppView<F>>,
    pub(crate) release: Arc<ReleaseView<F>>,
    pub(crate) scope: Option<CallScope>,
}

pub(crate) enum Resolved<F> {
    At(Destination<F>),
    /// An app is not in memory, but may exist.
    Unknown,
    Not(Problem),
}

impl<B: Backend> Inner<B> {
    pub(crate) fn resolve(&self, wanted: Wanted<'_>) -> Resolved<B::Function> {
        let mut verdict = Verdict::default();
        if let Some(scope) = wanted.scope {
            let candidate = Candidate { app: &scope.app, release: Some(&scope.release) };
            return match self.look_up(&candidate, &mut verdict) {
                Ok(Some(mut destination)) => {
                    destination.scope = Some(scope);
                    Resolved::At(destination)
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
                Ok(Some(destination)) => return Resolved::At(destination),
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
    ) -> Result<Option<Destination<B::Function>>, NotInMemory> {
        let Some((app, counters)) = self.directory.find(candidate.app) else {
            if !self.directory.is_absent(candidate.app) {
                return Err(NotInMemory);
            }
            verdict.unknown_app(candidate.app);
            return Ok(None);
        };
        match choose(&app, candidate.release) {
            Ok(release) => {
                release.read_ahead();
                let release = release.clone();
                Ok(Some(Destination { counters, app, release, scope: None }))
            }
            Err(problem) => {
                verdict.add(problem);
                Ok(None)
            }
        }
    }

    /// Like `resolve`, for apps that were not in memory. Relies on the loads themselves: an entry
    /// in the negative cache may expire before the last candidate is loaded.
    pub(crate) async fn load(&self, wanted: Wanted<'_>) -> Result<Destination<B::Function>, Problem> {
        let mut verdict = Verdict::default();
        if let Some(scope) = wanted.scope {
            let candidate = Candidate { app: &scope.app, release: Some(&scope.release) };
            let destination = self.load_candidate(&candidate, &mut verdict).await?;
            return destination
                .map(|destination| Destination { scope: Some(scope), ..destination })
                .ok_or_else(|| verdict.problem());
        }
        let Named::App(address) = host::parse(&wanted.host, &self.domain) else {
            return Err(self.no_app(&wanted.host));
        };
        for candidate in address.candidates() {
            if let Some(destination) = self.load_candidate(&candidate, &mut verdict).await? {
                return Ok(destination);
            }
        }
        Err(verdict.problem())
    }

    async fn load_candidate(
        &self,
        candidate: &Candidate<'_>,
        verdict: &mut Verdict,
    ) -> Result<Option<Destination<B::Function>>, Problem> {
        self.load_app(candidate.app).await?;
        self.look_up(candidate, verdict).or_else(|NotInMemory| {
            verdict.unknown_app(candidate.app);
            Ok(None)
        })
    }

    async fn load_app(&self, app: &str) -> Result<(), Problem> {
        let loaded = self.directory.get_or_load(&self.backend, app).await;
        loaded.map(drop).map_err(|LoadFailure(reason)| {
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

/// The best reason why no interpretation of an address was found.
#[derive(Default)]
struct Verdict(Option<Problem>);

impl Verdict {
    fn add(&mut self, problem: Problem) {
        // Expired is a better reason than never existed, and a missing release a better one than a
        // missing app.
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

/// Returns the named release, or live without a name.
fn choose<'a, F>(app: &'a AppView<F>, release: Option<&str>) -> Result<&'a Arc<ReleaseView<F>>, Problem> {
    let none = |what: &str| {
        let detail = format!("The app `{}` has {what} release.", app.app);
        Problem::new(StatusCode::NOT_FOUND, "no_release", detail).hint("`milepost release list` shows what there is")
    };
    let unready = |name: &str| {
        let known = app.unready.iter().any(|unready| unready == name);
        known.then(|| {
            let detail = format!("The files of the release `{name}` of the app `{}` are not loaded yet.", app.app);
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
                .hint("try again in a moment")
                .header(header::RETRY_AFTER, HeaderValue::from_static("1"))
        })
    };
    if let Some(problem) = unready(release.unwrap_or("live")) {
        return Err(problem);
    }
    match release {
        None | Some("live") => app.live.as_ref().ok_or_else(|| none("no live")),
        Some("latest") => app.latest.as_ref().ok_or_else(|| none("no active")),
        Some(name) => app.releases.get(name).ok_or_else(|| match app.expired.get(name) {
            Some(at) => {
                let detail = format!("The release `{name}` of the app `{}` expired at {at}.", app.app);
                let problem = Problem::new(StatusCode::GONE, "release_expired", detail)
                    .hint("its app version can be released again with `milepost release create`");
                match HeaderValue::from_str(name) {
                    Ok(name) => problem.header(MILEPOST_RELEASE, name),
                    Err(_) => problem,
                }
            }
            None => {
                let detail = format!("The app `{}` has no release or tag `{name}`.", app.app);
                Problem::new(StatusCode::NOT_FOUND, "unknown_release", detail)
                    .hint("`milepost release list` shows what there is")
            }
        }),
    }
}

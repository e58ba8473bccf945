//! Chooses the release that serves a request. Called once an app is known, before its files and
//! routes are looked at, and the only place that decides between releases:
//!
//! 1. A release's own address, or a call from inside of a release: that release.
//! 2. The address of the app: its live release.
//!
//! A pure function of the request's head, the app's view and the release that was named, so that
//! every node and every retry makes the same choice.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use milepost_model::Next;
use milepost_model::refusal::View;

use crate::gateway::RequestHead;
use crate::problem::{MILEPOST_RELEASE, Problem};
use crate::view::{AppView, ReleaseView};

/// The release that serves a request.
pub(crate) struct Chosen<F> {
    pub(crate) release: Arc<ReleaseView<F>>,
}

/// What the response says about the choice, whatever answers: a file, a function or an error.
pub(crate) struct ChoiceHeaders {
    release: HeaderValue,
}

/// `named` is the release in the host or in the call token, by id, tag, `live` or `latest`. The
/// host of an app names none.
pub(crate) fn choose<F>(head: &RequestHead, app: &AppView<F>, named: Option<&str>) -> Result<Chosen<F>, Problem> {
    debug_assert!(named.is_some() || !head.peer.inside, "a call token names its release");
    let releases = || Next::See { view: View::Releases };
    let none = |what: &str| {
        let detail = format!("The app `{}` has {what} release.", app.app);
        Problem::new(StatusCode::NOT_FOUND, "no_release", detail).operator(&app.app, releases())
    };
    let name = named.unwrap_or("live");
    if app.unready.iter().any(|unready| unready == name) {
        let detail = format!("The files of the release `{name}` of the app `{}` are not loaded yet.", app.app);
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
            .hint("try again in a moment")
            .header(header::RETRY_AFTER, HeaderValue::from_static("1")));
    }
    let release = match named {
        None | Some("live") => app.live.as_ref().ok_or_else(|| none("no live")),
        Some("latest") => app.latest.as_ref().ok_or_else(|| none("no active")),
        Some(name) => app.releases.get(name).ok_or_else(|| match app.expired.get(name) {
            Some(at) => {
                let detail = format!("The release `{name}` of the app `{}` expired at {at}.", app.app);
                let problem = Problem::new(StatusCode::GONE, "release_expired", detail)
                    .operator(&app.app, Next::CreateRelease { of: Some(name.to_owned()) });
                match HeaderValue::from_str(name) {
                    Ok(name) => problem.header(MILEPOST_RELEASE, name),
                    Err(_) => problem,
                }
            }
            None => {
                let detail = format!("The app `{}` has no release or tag `{name}`.", app.app);
                Problem::new(StatusCode::NOT_FOUND, "unknown_release", detail).operator(&app.app, releases())
            }
        }),
    };
    Ok(Chosen { release: release?.clone() })
}

impl<F> Chosen<F> {
    pub(crate) fn headers(&self) -> ChoiceHeaders {
        ChoiceHeaders { release: self.release.header() }
    }
}

impl ChoiceHeaders {
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        headers.insert(MILEPOST_RELEASE, self.release);
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::gateway::Peer;

    fn head(host: &str, inside: bool) -> RequestHead {
        let (parts, ()) = Request::get("/").header("host", host).body(()).expect("a request").into_parts();
        RequestHead::new(parts, Peer { inside, ..Peer::default() })
    }

    fn release(id: &str) -> Arc<ReleaseView<()>> {
        Arc::new(ReleaseView::new(id, Vec::new(), Vec::new(), Vec::new()))
    }

    fn shop(live: Option<&str>) -> AppView<()> {
        AppView {
            app: "shop".into(),
            order: 1,
            unready: Box::default(),
            live: live.map(release),
            latest: Some(release("r3")),
            releases: ["r1", "r2", "r3"].into_iter().map(|id| (id, release(id))).collect(),
            expired: Arc::new([("r0", milepost_model::Timestamp::UNIX_EPOCH)].into_iter().collect()),
        }
    }

    fn chosen(app: &AppView<()>, named: Option<&str>, inside: bool) -> Result<String, &'static str> {
        let chosen = choose(&head("shop.localhost", inside), app, named).map_err(|problem| problem.code)?;
        let mut headers = HeaderMap::new();
        chosen.headers().add_to(&mut headers);
        assert_eq!(headers[MILEPOST_RELEASE], chosen.release.id.as_str(), "the response names its release");
        Ok(chosen.release.id.to_string())
    }

    #[test]
    fn a_named_release_serves_and_otherwise_live() {
        let app = shop(Some("r2"));
        for (named, expected) in [(None, "r2"), (Some("live"), "r2"), (Some("latest"), "r3"), (Some("r1"), "r1")] {
            assert_eq!(chosen(&app, named, false).as_deref(), Ok(expected), "{named:?}");
        }
        assert_eq!(chosen(&app, Some("r1"), true).as_deref(), Ok("r1"), "a call from inside stays in its release");
        assert_eq!(chosen(&app, Some("r0"), false), Err("release_expired"));
        assert_eq!(chosen(&app, Some("r9"), false), Err("unknown_release"));
        assert_eq!(chosen(&shop(None), None, false), Err("no_release"));
    }

    #[test]
    fn the_host_is_normalised_once_with_the_head() {
        for (sent, normal) in
            [("Shop.Localhost:8080", "shop.localhost"), ("shop.localhost.", "shop.localhost"), ("a b", "")]
        {
            assert_eq!(head(sent, false).host, normal, "{sent}");
        }
    }
}

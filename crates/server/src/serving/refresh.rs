//! Keeping views fresh: after every call that writes, before it is answered; by word from other nodes; and underneath by
//! looking, so that a word that was lost costs seconds and not more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use milepost_catalog::Heard;
use milepost_gateway::view::AppView;
use milepost_gateway::{Backend as _, Directory};
use milepost_model::AppName;
use milepost_runtime::Function;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::plane::Plane;
use super::views::{AppMemory, NewView, stamp};
use crate::error::ApiResult;
use crate::state::State;

/// How often views are compared with the database when nobody says anything.
const LOOK: Duration = Duration::from_secs(5);

/// The views that the gateway serves from.
pub(crate) struct Views {
    plane: Arc<Plane>,
    directory: Arc<Directory<Function>>,
}

impl Views {
    pub(crate) fn new(plane: Arc<Plane>, directory: Arc<Directory<Function>>) -> Self {
        Self { plane, directory }
    }

    /// Reads the app again and shows the gateway what is new. Returns when the next request sees it.
    pub(crate) async fn refresh(&self, app: &AppName) -> ApiResult<()> {
        let show = |seen: Option<Arc<AppView<Function>>>| match seen {
            Some(view) => {
                self.directory.publish(view);
            }
            None => {
                // Made again under the same name it has a higher number, so this does not keep it out.
                if let Some(view) = self.directory.get(app.as_str()) {
                    self.directory.remove(app.as_str(), view.event);
                }
            }
        };
        self.plane.look(app, show).await
    }

    /// The app as the gateway serves it; one that nobody has asked for yet is read first. `None`: there is no such app.
    pub(crate) async fn of(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        if let Some(view) = self.directory.get(app.as_str()) {
            return Ok(Some(view));
        }
        self.refresh(app).await?;
        Ok(self.directory.get(app.as_str()))
    }

    /// With what a function that runs outside of any release calls others: those of the newest one, since it has the app's
    /// newest configuration too. Empty when there is no release.
    pub(crate) async fn call_token(&self, app: &AppName) -> ApiResult<Box<str>> {
        let view = self.of(app).await?;
        let release = view.as_ref().and_then(|view| view.latest.as_ref().or(view.live.as_ref()));
        Ok(release.map(|release| self.plane.make_call_token(app.as_str(), &release.id)).unwrap_or_default())
    }

    /// Refreshes every app whose events went on since its view was made. One that cannot be read keeps no other from being
    /// refreshed; the first is told at the end.
    async fn catch_up(&self) -> ApiResult<()> {
        let catalog = &self.plane.store.catalog;
        self.plane.tokens.refresh(catalog).await?;
        let marks = catalog.serving_marks().await?;
        let mut here: HashMap<_, i64> = self.directory.events().into_iter().collect();
        let mut behind = Vec::new();
        for (app, id, event) in marks {
            let seen = here.remove(app.as_str());
            if seen.is_none_or(|seen| seen < stamp(id, event)) {
                behind.push(app);
            }
        }
        behind.extend(here.into_keys().filter_map(|gone| gone.parse().ok()));
        let mut outcome = Ok(());
        for app in behind {
            if let Err(mut error) = self.refresh(&app).await {
                // If it is the database, the others would be asked in vain.
                catalog.ping().await?;
                error.0.message = format!("App `{app}`: {}", error.0.message);
                outcome = outcome.and(Err(error));
            }
        }
        self.plane.packages.all_needs_are_told();
        self.plane.packages.note_again();
        outcome
    }
}

impl Plane {
    /// The app as it is now; `None` when there is none, and then nothing is remembered of it.
    pub(super) async fn view(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        self.look(app, |seen| seen).await
    }

    /// Shows the app as it is now. Nobody else looks at it before that is done, so whoever looked last has the last word, also
    /// when an app that was gone is made again meanwhile.
    async fn look<T>(&self, app: &AppName, show: impl FnOnce(Option<Arc<AppView<Function>>>) -> T) -> ApiResult<T> {
        let mut memory = self.memory(app).await;
        if let Some(made) = self.read(app, &mut memory).await? {
            self.runtime.keep_warm(app, &made.warm);
            self.packages.need(app, made.packages);
            return Ok(show(Some(made.view)));
        }
        self.runtime.keep_warm(app, &[]);
        self.packages.need(app, HashSet::new());
        let shown = show(None);
        // At the end: from here on others look.
        self.forget(app);
        Ok(shown)
    }

    async fn read(&self, app: &AppName, memory: &mut AppMemory) -> ApiResult<Option<NewView>> {
        let Some(mut serving) = self.store.catalog.serving(app, memory.known()).await? else { return Ok(None) };
        if memory.is_of_another(&serving) {
            *memory = AppMemory::default();
            match self.store.catalog.serving(app, memory.known()).await? {
                Some(again) => serving = again,
                None => return Ok(None),
            }
        }
        memory.build(serving, &self.store, &self.trees).await.map(Some)
    }
}

/// When views are compared with the database next.
struct NextLook(Instant);

impl NextLook {
    /// What is heard before that, or `None` when it is time to look: however much is heard does not put it off.
    async fn unless<T>(&self, heard: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.0) => None,
            heard = heard => Some(heard),
        }
    }
}

/// Loads every view, then keeps them fresh until the server stops.
pub(crate) async fn keep_fresh(state: State, stop: CancellationToken) {
    let mut news = state.catalog.listen();
    let (mut listening, mut failing) = (true, false);
    let mut next_look = NextLook(Instant::now());
    loop {
        let heard = async { if listening { news.recv().await } else { std::future::pending().await } };
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            heard = next_look.unless(heard) => heard,
        };
        match heard {
            Some(Some(Heard::App(app))) => {
                // What fails here is caught up with at the next look.
                let _ = state.views.refresh(&app).await;
                continue;
            }
            Some(None) => {
                // Nobody but this process writes: looking is enough.
                listening = false;
                continue;
            }
            Some(Some(Heard::Gap)) | None => {}
        }
        let caught_up = state.views.catch_up().await;
        if let Err(error) = &caught_up
            && !failing
        {
            tracing::warn!(message = %error.0, "views could not be refreshed; what was served goes on being served");
        }
        if caught_up.is_ok() && failing {
            tracing::info!("views are fresh again");
        }
        failing = caught_up.is_err();
        next_look = NextLook(Instant::now() + LOOK);
    }
}

/// Whoever got the answer of a write sees it with the next request: the view is swapped before the answer goes out.
pub(crate) async fn refresh_after(
    axum::extract::State(state): axum::extract::State<State>,
    request: Request,
    next: Next,
) -> Response {
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    if !writes {
        return next.run(request).await;
    }
    let app = app_of(&route, request.uri().path());
    let response = next.run(request).await;
    if !response.status().is_success() {
        return response;
    }
    // Whatever moves live may bring other timers.
    if app.is_some() {
        state.executions.wake_scheduler();
    }
    let refreshed = match &app {
        Some(app) => state.views.refresh(app).await,
        None if route.contains("/tokens") => state.plane.tokens.refresh(&state.catalog).await.map_err(Into::into),
        None => Ok(()),
    };
    if let Err(error) = refreshed {
        tracing::warn!(message = %error.0, "the change is made, but this node shows it only when the database answers again");
    }
    response
}

/// Calls that store bytes, or that run something, change nothing that is served.
fn app_of(route: &str, path: &str) -> Option<AppName> {
    let rest = route.strip_prefix("/api/v1/apps/{app}")?;
    let serves = ["/blobs", "/executions", "/jobs"].iter().all(|calls| !rest.starts_with(calls));
    if !serves || rest.ends_with("/call") {
        return None;
    }
    path.strip_prefix("/api/v1/apps/")?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use milepost_model::Digest;

    use super::*;

    async fn plane() -> (Arc<Plane>, tempfile::TempDir) {
        let data = tempfile::tempdir().expect("a folder");
        let mut settings = crate::Settings::new(data.path().to_owned(), ([127, 0, 0, 1], 0).into());
        settings.spares = Some(0);
        let server = crate::Server::start(settings).await.expect("a server");
        (Arc::clone(&server.installs_due().0.plane), data)
    }

    #[tokio::test]
    async fn an_app_that_is_gone_is_forgotten_and_shown_as_gone_before_anybody_else_looks_at_it() {
        let (plane, _data) = plane().await;
        let app: AppName = "gone".parse().expect("a name");
        plane.packages.need(&app, HashSet::from([Digest::of(b"left")]));
        let show = |seen: Option<Arc<AppView<Function>>>| {
            assert!(seen.is_none());
            assert!(plane.memory(&app).now_or_never().is_none(), "somebody else may look already");
            assert!(!plane.packages.needs().is_needed(Digest::of(b"left")));
        };
        plane.look(&app, show).await.expect("the database answers");
        assert!(plane.memory(&app).now_or_never().is_some(), "others look at it now");
    }

    #[tokio::test]
    async fn whoever_waited_for_the_memory_of_an_app_that_was_forgotten_waits_for_the_next_one() {
        let (plane, _data) = plane().await;
        let app: AppName = "gone".parse().expect("a name");
        let first = plane.memory(&app).await;
        let mut waiting = std::pin::pin!(plane.memory(&app));
        assert!(futures::poll!(&mut waiting).is_pending());
        plane.forget(&app);
        let second = plane.memory(&app).await;
        drop(first);
        assert!(futures::poll!(&mut waiting).is_pending(), "two look at the same time");
        drop(second);
        waiting.await;
    }

    #[tokio::test]
    async fn views_are_compared_in_time_however_much_is_heard() {
        let next_look = NextLook(Instant::now() + Duration::from_millis(20));
        let hearing = async { while next_look.unless(tokio::task::yield_now()).await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(30), hearing).await.expect("nobody looks any more");
    }

    #[test]
    fn a_write_to_an_app_names_the_app() {
        let app = |route: &str, path: &str| app_of(route, path).map(|app| app.to_string());
        assert_eq!(app("/api/v1/apps/{app}/live", "/api/v1/apps/shop/live"), Some("shop".to_owned()));
        assert_eq!(app("/api/v1/apps/{app}", "/api/v1/apps/shop"), Some("shop".to_owned()));
        assert_eq!(app("/api/v1/apps/{app}/blobs", "/api/v1/apps/shop/blobs"), None);
        assert_eq!(app("/api/v1/apps/{app}/executions", "/api/v1/apps/shop/executions"), None);
        assert_eq!(app("/api/v1/apps", "/api/v1/apps"), None);
        assert_eq!(app("/api/v1/tokens", "/api/v1/tokens"), None);
    }
}

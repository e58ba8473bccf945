//! Keeps views up to date: after a write that affects them (`effects`); on notifications from other
//! nodes; and by polling, so that a lost notification delays an update by seconds at most.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

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

/// Polling interval.
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

    /// Reloads the app and publishes the new view. Once this returns, the next request sees it.
    pub(crate) async fn refresh(&self, app: &AppName) -> ApiResult<()> {
        let show = |seen: Option<Arc<AppView<Function>>>| match seen {
            Some(view) => {
                self.directory.publish(view);
            }
            None => {
                // A new app with the same name has a higher stamp, so this does not block it.
                if let Some(view) = self.directory.get(app.as_str()) {
                    self.directory.remove(app.as_str(), view.event);
                }
            }
        };
        self.plane.look(app, show).await
    }

    /// The app's current view, loaded if necessary. `None` if the app does not exist.
    pub(crate) async fn of(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        if let Some(view) = self.directory.get(app.as_str()) {
            return Ok(Some(view));
        }
        self.refresh(app).await?;
        Ok(self.directory.get(app.as_str()))
    }

    /// The call token for a function that runs outside of any release. Uses the newest release,
    /// which matches the app's newest configuration. Empty if there is no release.
    pub(crate) async fn call_token(&self, app: &AppName) -> ApiResult<Box<str>> {
        let view = self.of(app).await?;
        let release = view.as_ref().and_then(|view| view.latest.as_ref().or(view.live.as_ref()));
        Ok(release.map(|release| self.plane.make_call_token(app.as_str(), &release.id)).unwrap_or_default())
    }

    /// Refreshes every app that has new events. An app that cannot be read does not block the
    /// others; the first error is returned at the end.
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
                // If the database is down, refreshing the other apps would fail too.
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
    /// The app's current view. Returns `None` if the app does not exist, and then drops its state.
    pub(super) async fn view(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        self.look(app, |seen| seen).await
    }

    /// Passes the app's current view to `show`. Serialized per app, so the latest read always wins,
    /// even if a deleted app is created again meanwhile.
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
        // Must come last, because other tasks can look at the app from here on.
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

/// The time of the next poll.
struct NextLook(Instant);

impl NextLook {
    /// Returns the output of `heard`, or `None` when it is time to poll. Frequent notifications do
    /// not delay the poll.
    async fn unless<T>(&self, heard: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.0) => None,
            heard = heard => Some(heard),
        }
    }
}

/// Loads all views, then keeps them up to date until the server stops.
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
                // The next poll retries a failed refresh.
                let _ = state.views.refresh(&app).await;
                continue;
            }
            Some(None) => {
                // Only this process writes to the database, so polling is enough.
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
    async fn deleted_app_is_removed_before_the_next_refresh() {
        let (plane, _data) = plane().await;
        let app: AppName = "gone".parse().expect("a name");
        plane.packages.need(&app, HashSet::from([Digest::of(b"left")]));
        let show = |seen: Option<Arc<AppView<Function>>>| {
            assert!(seen.is_none());
            assert!(plane.memory(&app).now_or_never().is_none(), "the turn was released too early");
            assert!(!plane.packages.needs().is_needed(Digest::of(b"left")));
        };
        plane.look(&app, show).await.expect("the database answers");
        assert!(plane.memory(&app).now_or_never().is_some(), "others look at it now");
    }

    #[tokio::test]
    async fn waiting_for_removed_app_state_switches_to_the_new_one() {
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
    async fn notifications_do_not_delay_polling() {
        let next_look = NextLook(Instant::now() + Duration::from_millis(20));
        let hearing = async { while next_look.unless(tokio::task::yield_now()).await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(30), hearing).await.expect("the refresher stopped");
    }
}

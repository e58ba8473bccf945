//! Keeps views up to date after a write that affects them (`effects`). `keep_fresh` follows the
//! changes of other nodes.

use std::collections::HashSet;
use std::sync::Arc;

use milepost_catalog::{Continuity, Position};
use milepost_gateway::view::AppView;
use milepost_gateway::{Backend as _, Directory};
use milepost_model::AppName;
use milepost_runtime::Function;
use tokio::sync::Notify;

use super::history::Seen;
use super::plane::Plane;
use super::views::{AppMemory, NewView};
use crate::error::{ApiError, ApiResult};

/// The views that the gateway serves from.
pub(crate) struct Views {
    pub(super) plane: Arc<Plane>,
    directory: Arc<Directory<Function>>,
    /// Notified when `keep_fresh` should compare all views with the ledger at once.
    pub(super) look: Notify,
}

impl Views {
    pub(crate) fn new(plane: Arc<Plane>, directory: Arc<Directory<Function>>) -> Self {
        Self { plane, directory, look: Notify::new() }
    }

    /// Compares all views with the ledger now instead of at the next poll.
    pub(crate) fn look_now(&self) {
        self.look.notify_one();
    }

    /// Reloads the app and publishes the new view. Once this returns, the next request sees it.
    pub(crate) async fn refresh(&self, app: &AppName) -> ApiResult<()> {
        let show = |seen: Option<Arc<AppView<Function>>>| match seen {
            Some(view) => {
                self.directory.publish(view);
            }
            None => {
                self.directory.remove(app.as_str(), self.plane.history.next_read());
            }
        };
        let (_, problem) = self.plane.look(app, show).await?;
        problem.map_or(Ok(()), Err)
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
}

impl Plane {
    /// The app's current view. Returns `None` if the app does not exist, and then drops its state.
    pub(super) async fn view(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        // Releases that could not be loaded are part of the view as such, and read again later.
        self.look(app, |seen| seen).await.map(|(seen, _)| seen)
    }

    /// Passes the app's current view to `show`, and returns why some of it is not loaded.
    /// Serialized per app, so the latest read always wins, even if a deleted app is created again
    /// meanwhile.
    async fn look<T>(
        &self,
        app: &AppName,
        show: impl FnOnce(Option<Arc<AppView<Function>>>) -> T,
    ) -> ApiResult<(T, Option<ApiError>)> {
        let mut memory = self.memory(app).await;
        if let Some(made) = self.read(app, &mut memory).await? {
            self.runtime.keep_warm(app, &made.warm);
            self.packages.need(app, made.packages);
            let shown = show(Some(made.view));
            self.history.note(app, Seen { position: made.position, whole: made.problem.is_none() });
            return Ok((shown, made.problem));
        }
        self.runtime.keep_warm(app, &[]);
        self.packages.need(app, HashSet::new());
        let shown = show(None);
        self.history.forget(app);
        // Must come last, because other tasks can look at the app from here on.
        self.forget(app);
        Ok((shown, None))
    }

    /// Reports that events which this node had read are gone.
    fn history_was_cut(&self, app: &AppName, lost: Position, now: Position) {
        tracing::error!(
            %app,
            lost = lost.event,
            newest = now.event,
            "the history of an app was cut: after a failover or a restore, the database lacks events that this node had \
             read; what they did is undone here too"
        );
        self.history.cut(app, lost.event, self.clock.now());
        let (catalog, app) = (self.store.catalog.clone(), app.clone());
        tokio::spawn(async move {
            if let Err(error) = catalog.history_cut(&app, lost).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, %app, "the cut could not be recorded in the history of the app");
            }
        });
    }

    async fn read(&self, app: &AppName, memory: &mut AppMemory) -> ApiResult<Option<NewView>> {
        let before = memory.position();
        let serving = {
            let _place = self.reads.acquire().await;
            self.store.catalog.serving(app, memory.known()).await?
        };
        let Some(serving) = serving else { return Ok(None) };
        if serving.continuity != Continuity::Follows {
            *memory = AppMemory::default();
        }
        if let (Continuity::Cut, Some(lost)) = (serving.continuity, before) {
            self.history_was_cut(app, lost, serving.position);
        }
        Ok(Some(memory.build(serving, self.history.next_read(), &self.store, &self.trees).await))
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
}

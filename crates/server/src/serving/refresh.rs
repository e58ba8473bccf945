//! Keeping views fresh: after every call that writes, before it is answered; by word from other nodes; and underneath by
//! looking, so that a word that was lost costs seconds and not more.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use milepost_catalog::Heard;
use milepost_gateway::Directory;
use milepost_gateway::view::AppView;
use milepost_model::AppName;
use milepost_runtime::Function;
use tokio_util::sync::CancellationToken;

use super::plane::Plane;
use super::views::stamp;
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
        match self.plane.view(app).await? {
            Some(view) => {
                self.directory.publish(view);
            }
            None => {
                // Made again under the same name it has a higher number, so this does not keep it out.
                if let Some(view) = self.directory.get(app.as_str()) {
                    self.directory.remove(app.as_str(), view.event);
                }
                self.plane.runtime.keep_warm(app, &[]);
            }
        }
        Ok(())
    }

    /// The app as the gateway serves it; one that nobody has asked for yet is read first. `None`: there is no such app.
    pub(crate) async fn of(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        if let Some(view) = self.directory.get(app.as_str()) {
            return Ok(Some(view));
        }
        self.refresh(app).await?;
        Ok(self.directory.get(app.as_str()))
    }

    /// Refreshes every app whose events went on since its view was made.
    async fn catch_up(&self) -> ApiResult<()> {
        let catalog = &self.plane.store.catalog;
        self.plane.tokens.refresh(catalog).await?;
        let marks = catalog.serving_marks().await?;
        let mut here: std::collections::HashMap<_, i64> = self.directory.events().into_iter().collect();
        for (app, id, event) in marks {
            let seen = here.remove(app.as_str());
            if seen.is_none_or(|seen| seen < stamp(id, event)) {
                self.refresh(&app).await?;
            }
        }
        for gone in here.into_keys() {
            if let Ok(app) = gone.parse::<AppName>() {
                self.refresh(&app).await?;
            }
        }
        self.plane.packages.note_again();
        Ok(())
    }
}

impl Plane {
    /// The app as it is now; `None` when there is none, and then nothing is remembered of it.
    pub(super) async fn view(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        let view = self.look(app).await?;
        if view.is_none() {
            self.forget(app);
        }
        Ok(view)
    }

    async fn look(&self, app: &AppName) -> ApiResult<Option<Arc<AppView<Function>>>> {
        let memory = self.memory(app);
        let mut memory = memory.lock().await;
        let Some(mut serving) = self.store.catalog.serving(app, memory.known()).await? else { return Ok(None) };
        if memory.is_of_another(&serving) {
            *memory = super::views::AppMemory::default();
            match self.store.catalog.serving(app, memory.known()).await? {
                Some(again) => serving = again,
                None => return Ok(None),
            }
        }
        let made = memory.build(serving, &self.store, &self.trees).await?;
        self.runtime.keep_warm(app, &made.warm);
        self.packages.need(app, made.packages);
        Ok(Some(made.view))
    }
}

/// Loads every view, then keeps them fresh until the server stops.
pub(crate) async fn keep_fresh(state: State, stop: CancellationToken) {
    let mut news = state.catalog.listen();
    let mut failing = false;
    let mut look = true;
    loop {
        if look {
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
        }
        look = tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => true,
            heard = news.recv() => match heard {
                Some(Heard::App(app)) => {
                    // What fails here is caught up with at the next look.
                    let _ = state.views.refresh(&app).await;
                    false
                }
                Some(Heard::Gap) => true,
                None => {
                    // Nobody but this process writes: looking is enough.
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(LOOK) => true,
                    }
                }
            },
        };
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
    use super::*;

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

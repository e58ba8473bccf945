//! Follows the changes of other nodes: on notifications, and by polling, so that a lost
//! notification delays an update by seconds at most. Apps are refreshed at the same time, so that
//! none waits for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost_catalog::Heard;
use milepost_model::AppName;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::refresh::Views;
use crate::error::ApiResult;
use crate::state::State;

/// Polling interval.
const LOOK: Duration = Duration::from_secs(5);

/// Apps to refresh.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    /// Their views are older than the ledger, or they are gone from it.
    pub stale: Vec<AppName>,
    /// Some of their releases could not be loaded.
    partial: Vec<AppName>,
}

impl Views {
    pub(crate) async fn behind(&self) -> ApiResult<Behind> {
        // Read first: an app that is refreshed meanwhile is listed at most once too often.
        let mut seen = self.plane.history.seen();
        let marks = self.plane.store.catalog.serving_marks().await?;
        let mut behind = Behind::default();
        for (app, position) in marks {
            match seen.remove(&app) {
                Some(seen) if seen.position != position => behind.stale.push(app),
                Some(seen) if !seen.whole => behind.partial.push(app),
                Some(_) => {}
                None => behind.stale.push(app),
            }
        }
        behind.stale.extend(seen.into_keys());
        Ok(behind)
    }

    /// Starts to refresh every app that is behind. Returns whether all views are new enough.
    async fn catch_up(&self, refreshing: &Arc<Refreshing>) -> ApiResult<bool> {
        self.plane.tokens.refresh(&self.plane.store.catalog).await?;
        let behind = self.behind().await?;
        let settled = behind.stale.is_empty();
        for app in behind.stale.into_iter().chain(behind.partial) {
            refreshing.start(app);
        }
        if settled {
            self.plane.packages.all_needs_are_told();
            self.plane.packages.note_again();
        }
        Ok(settled)
    }
}

/// Refreshes in the background, at most one of an app at a time.
struct Refreshing {
    state: State,
    /// Whether an app that is being refreshed changed since that began.
    running: Mutex<HashMap<AppName, bool>>,
    /// The newest problem that was not reported yet.
    problem: Mutex<Option<String>>,
    /// Notified when nothing is being refreshed any more.
    idle: Notify,
}

impl Refreshing {
    fn new(state: State) -> Arc<Self> {
        Arc::new(Self { state, running: Mutex::default(), problem: Mutex::default(), idle: Notify::new() })
    }

    /// Refreshes an app in the background. If it is being refreshed already, that is repeated.
    fn start(self: &Arc<Self>, app: AppName) {
        let mut running = lock(&self.running);
        if let Some(again) = running.get_mut(&app) {
            *again = true;
            return;
        }
        running.insert(app.clone(), false);
        drop(running);
        let refreshing = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                if let Err(error) = refreshing.state.views.refresh(&app).await {
                    *lock(&refreshing.problem) = Some(format!("App `{app}`: {}", error.0.message));
                }
                let mut running = lock(&refreshing.running);
                if running.get_mut(&app).is_some_and(std::mem::take) {
                    continue;
                }
                running.remove(&app);
                if running.is_empty() {
                    refreshing.idle.notify_one();
                }
                return;
            }
        });
    }

    fn take_problem(&self) -> Option<String> {
        lock(&self.problem).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    let refreshing = Refreshing::new(state.clone());
    let (mut listening, mut failing, mut settled) = (true, false, false);
    let mut incarnation = None;
    let mut next_look = NextLook(Instant::now());
    loop {
        let heard = async {
            tokio::select! {
                heard = news.recv(), if listening => heard,
                // Looks once more, to find out whether that was all.
                () = refreshing.idle.notified(), if !settled && !failing => Some(Heard::Gap),
                () = state.views.look.notified() => Some(Heard::Gap),
            }
        };
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            heard = next_look.unless(heard) => heard,
        };
        match heard {
            Some(Some(Heard::App(app))) => {
                refreshing.start(app);
                continue;
            }
            Some(None) => {
                // Only this process writes to the database, so polling is enough.
                listening = false;
                continue;
            }
            Some(Some(Heard::Gap)) | None => {}
        }
        let caught_up = state.views.catch_up(&refreshing).await;
        if let Ok(now) = state.catalog.incarnation().await {
            let before = incarnation.replace(now.clone());
            if let Some(before) = before.filter(|before| *before != now) {
                tracing::warn!(before, now, "the database failed over or was restored; everything is compared with it");
                state.executions.prove(&state).await;
            }
        }
        settled = *caught_up.as_ref().unwrap_or(&false);
        let problem = refreshing.take_problem().or_else(|| caught_up.err().map(|error| error.0.message));
        if let Some(message) = &problem
            && !failing
        {
            tracing::warn!(message, "views could not be refreshed; what was served goes on being served");
        }
        if problem.is_none() && settled && failing {
            tracing::info!("views are fresh again");
            failing = false;
        }
        failing |= problem.is_some();
        next_look = NextLook(Instant::now() + LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn notifications_do_not_delay_polling() {
        let next_look = NextLook(Instant::now() + Duration::from_millis(20));
        let hearing = async { while next_look.unless(tokio::task::yield_now()).await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(30), hearing).await.expect("nobody looks any more");
    }
}

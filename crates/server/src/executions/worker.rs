//! A task per node that claims queued executions while it has capacity, and handles cancellations.

use std::time::{Duration, Instant};

use milepost_catalog::{CatalogError, Turn};
use tokio_util::sync::CancellationToken;

use super::orphans::Orphans;
use super::{LOOK, attempt};
use crate::state::State;

/// Minimum interval between notifications to other nodes that this node is full. Each notification
/// costs all of them a query.
const TELL: Duration = Duration::from_millis(200);

/// Delay before looking again at executions that were left to another node.
const SOON: Duration = Duration::from_millis(500);

/// Why the worker woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// An execution was queued on this node.
    Queued,
    /// A place is free.
    Freed,
    /// Another node sent a notification.
    Told,
    /// The polling interval elapsed.
    Time,
}

/// Claims and starts executions until the server stops. Running attempts continue.
pub(crate) async fn repeat(state: State, stop: CancellationToken) {
    let executions = &state.executions;
    let mut news = state.catalog.listen_executions();
    let mut listening = true;
    let mut turn = Turn::with_places(executions.at_once);
    let mut told: Option<Instant> = None;
    let mut failing = false;
    let mut woken = Woken::Time;
    let mut orphans = Orphans::default();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    looks.reset();
    while !stop.is_cancelled() {
        let looked = look(&state, &mut turn, &mut orphans, woken, &stop).await;
        if let Err(error) = &looked
            && !failing
        {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "executions could not be claimed; they wait until the database answers again");
        }
        failing = looked.is_err();
        let full = executions.places.available_permits() == 0;
        if full && woken == Woken::Queued && told.is_none_or(|told| told.elapsed() >= TELL) {
            told = Some(Instant::now());
            tell(&state).await;
        }
        woken = tokio::select! {
            () = stop.cancelled() => return,
            () = executions.queued.notified() => Woken::Queued,
            () = executions.freed.notified() => Woken::Freed,
            heard = news.recv(), if listening => {
                listening = heard.is_some();
                Woken::Told
            }
            () = tokio::time::sleep(SOON), if turn.left_some() => Woken::Freed,
            _ = looks.tick() => Woken::Time,
        };
    }
}

async fn look(
    state: &State,
    turn: &mut Turn,
    orphans: &mut Orphans,
    woken: Woken,
    stop: &CancellationToken,
) -> Result<(), CatalogError> {
    let executions = &state.executions;
    // Not on notifications: two consecutive checks need some time between them.
    if woken == Woken::Time {
        orphans.look(state).await?;
    }
    if matches!(woken, Woken::Told | Woken::Time) && !executions.lock().is_empty() {
        for (id, attempt) in state.catalog.executions_cancelling(executions.node()).await? {
            if let Some(token) = executions.lock().get(&(id, attempt)) {
                token.cancel();
            }
        }
    }
    let free = executions.able.places(executions.places.available_permits(), Instant::now());
    if free == 0 || stop.is_cancelled() {
        return Ok(());
    }
    for claimed in state.catalog.executions_claim(executions.node(), turn, free).await? {
        // Only this task acquires permits, so the counted ones are still available.
        let place = executions.places.clone().try_acquire_owned().ok();
        attempt::start(state, claimed, place);
    }
    Ok(())
}

/// Notifies other nodes that there is something to run or to cancel.
pub(crate) async fn tell(state: &State) {
    // With SQLite there are no other nodes.
    if state.catalog.engine() == milepost_catalog::Engine::Sqlite {
        return;
    }
    if let Err(error) = state.catalog.executions_tell().await {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "other nodes were not told; they look for themselves"
        );
    }
}

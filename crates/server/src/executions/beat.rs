//! Nodes say that they live, and take over from those that do not. On SQLite one server has the folder, so nobody has to
//! be told: its start gives back what the last one had.

use std::time::Duration;

use milepost_catalog::CatalogError;
use milepost_model::execution::MAX_ATTEMPTS;
use tokio_util::sync::CancellationToken;

use super::worker;
use crate::state::State;

const BEAT: Duration = Duration::from_secs(5);
/// A node that was not heard of for so long is dead.
const DEAD_MS: i64 = 20_000;

fn is_alone(state: &State) -> bool {
    state.catalog.engine() == "sqlite"
}

/// Before anything is claimed or waited for here.
pub(crate) async fn begin(state: &State) -> Result<(), CatalogError> {
    if !is_alone(state) {
        return state.catalog.node_beat(state.executions.node()).await;
    }
    // Also when this one runs nothing of the queue: what nobody waits for any more ends, and the rest can be cancelled.
    let found = state.catalog.give_back_all(MAX_ATTEMPTS).await?;
    if found.requeued + found.ended > 0 {
        tracing::info!(found.requeued, found.ended, "executions that ran when the server stopped");
    }
    Ok(())
}

pub(crate) async fn repeat(state: State, stop: CancellationToken) {
    if is_alone(&state) {
        return;
    }
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = once(&state).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the beat of this node could not be written; others may take over its executions");
        }
    }
}

async fn once(state: &State) -> Result<(), CatalogError> {
    state.catalog.node_beat(state.executions.node()).await?;
    let found = state.catalog.give_back_dead(DEAD_MS, MAX_ATTEMPTS).await?;
    if found.requeued + found.ended > 0 {
        tracing::info!(found.requeued, found.ended, "executions of nodes that are gone");
    }
    if found.requeued > 0 {
        state.executions.wake_worker();
    }
    Ok(())
}

/// What is left here is for others, or for the next start.
pub(crate) async fn leave(state: &State) {
    if is_alone(state) {
        return;
    }
    let left = async {
        state.catalog.node_leave(state.executions.node()).await?;
        state.catalog.give_back_dead(DEAD_MS, MAX_ATTEMPTS).await
    };
    match left.await {
        Ok(found) if found.requeued > 0 => worker::tell(state).await,
        Ok(_) => {}
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "this node could not say that it leaves; others notice after {} s", DEAD_MS / 1000);
        }
    }
}

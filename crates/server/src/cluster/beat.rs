//! Heartbeats of this node, and takeover of executions from dead nodes. SQLite needs neither: one
//! server owns the data directory, and its start gives back what the previous one held.

use std::time::Duration;

use milepost_catalog::{CatalogError, Node};
use milepost_model::execution::MAX_ATTEMPTS;
use tokio_util::sync::CancellationToken;

use super::clock;
use crate::executions::worker;
use crate::state::State;

const BEAT: Duration = Duration::from_secs(5);

fn is_alone(state: &State) -> bool {
    state.catalog.engine() == milepost_catalog::Engine::Sqlite
}

/// Must run before anything is claimed or waited for here.
pub(crate) async fn begin(state: &State) -> Result<(), CatalogError> {
    if !is_alone(state) {
        return state.catalog.node_beat(state.executions.node()).await;
    }
    // Also needed if this server runs no queued executions: it ends those that no client waits for
    // any more and makes the rest cancellable.
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
    let mut reported = clock::Reported::default();
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let beaten = once(&state).await;
        reported.look(&state);
        if let Err(error) = beaten {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the beat of this node could not be written; others may take over its executions");
        }
    }
}

async fn once(state: &State) -> Result<(), CatalogError> {
    let own = state.executions.node();
    state.catalog.node_beat(own).await?;
    let mut dead = state.catalog.nodes_dead().await?;
    dead.retain(|node| node.name != own);
    if dead.is_empty() {
        return Ok(());
    }
    let found = state.catalog.give_back_dead(dead, MAX_ATTEMPTS).await?;
    if found.requeued + found.ended > 0 {
        tracing::info!(found.requeued, found.ended, "executions of nodes that are gone");
    }
    if found.requeued > 0 {
        state.executions.wake_worker();
    }
    Ok(())
}

/// Leaves the cluster and hands over remaining executions to other nodes, or to the next start.
pub(crate) async fn leave(state: &State) {
    if is_alone(state) {
        return;
    }
    let left = async {
        let own = state.executions.node();
        state.catalog.node_leave(own).await?;
        let gone = Node { name: own.to_owned(), beat_at: None };
        state.catalog.give_back_dead(vec![gone], MAX_ATTEMPTS).await
    };
    match left.await {
        // Queued executions were given back one by one before, so other nodes must check the queue
        // in any case.
        Ok(_) => worker::tell(state).await,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "this node could not say that it leaves; others notice after 20 s");
        }
    }
}

//! Nodes say that they live, and take over from those that do not. On SQLite one server has the folder, so nobody has to
//! be told: its start gives back what the last one had.

use std::time::{Duration, Instant};

use milepost_catalog::{CatalogError, Node};
use milepost_model::execution::MAX_ATTEMPTS;
use tokio_util::sync::CancellationToken;

use super::watch::Watch;
use super::worker;
use crate::state::State;

const BEAT: Duration = Duration::from_secs(5);
/// A node that was watched for so long without a new beat is dead.
const DEAD: Duration = Duration::from_secs(20);

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
    let mut watch = Watch::new(DEAD, BEAT * 2);
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = once(&state, &mut watch).await {
            // Others may not have reached the database either: what was seen of them says nothing any more.
            watch.forget();
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the beat of this node could not be written; others may take over its executions");
        }
    }
}

async fn once(state: &State, watch: &mut Watch) -> Result<(), CatalogError> {
    let own = state.executions.node();
    state.catalog.node_beat(own).await?;
    let others: Vec<Node> = state.catalog.nodes().await?.into_iter().filter(|node| node.name != own).collect();
    let dead = watch.look(others, Instant::now());
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

/// What is left here is for others, or for the next start.
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
        // Those of the queue were given back one by one before, so others are to look in any case.
        Ok(_) => worker::tell(state).await,
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "this node could not say that it leaves; others notice after {} s", DEAD.as_secs());
        }
    }
}

//! A running server, and how it stops: first the requests, then the workers.

use std::sync::Arc;

use std::fs;
use std::time::{Duration, Instant};

use milepost_gateway::{ConnectionLimiter, Listener};
use tokio_util::sync::CancellationToken;

use super::{Server, StartError};
use crate::cluster::beat;
use crate::edge::door;
use crate::executions::{scheduler, worker};
use crate::serving::keep_fresh;
use crate::{checks, installs, router, upkeep};

/// Time that running requests have to finish after a stop.
const DRAIN: Duration = Duration::from_secs(20);
/// Short, because no client waits for the workers any more by then.
const WORKERS_DRAIN: Duration = Duration::from_secs(2);
/// Short, because no function that could call another is running any more by then.
const INSIDE_DRAIN: Duration = Duration::from_secs(1);

impl Server {
    /// Serves until `stop`, then drains the running requests and then the workers.
    pub async fn run(self, stop: CancellationToken) -> Result<(), StartError> {
        let sweeping = tokio::spawn(upkeep::sweep::repeat(self.state.clone(), self.settings.sweep_every, stop.clone()));
        let rekeying = tokio::spawn(upkeep::rekey::repeat(
            self.state.catalog.clone(),
            Arc::clone(&self.state.keyring),
            stop.clone(),
        ));
        let refreshing = tokio::spawn(keep_fresh(self.state.clone(), stop.clone()));
        // Keeps sending heartbeats until this node has released everything it holds.
        let left = CancellationToken::new();
        let beating = tokio::spawn(beat::repeat(self.state.clone(), left.clone()));
        let working = tokio::spawn(worker::repeat(self.state.clone(), stop.clone()));
        let scheduling = self
            .state
            .executions
            .is_worker()
            .then(|| tokio::spawn(scheduler::repeat(self.state.clone(), stop.clone())));
        let watching =
            self.state.installs.is_watching().then(|| tokio::spawn(installs::repeat(self.state.clone(), stop.clone())));
        let checking = tokio::spawn(checks::repeat(self.state.clone(), stop.clone()));
        let runtime = self.state.plane.runtime.clone();
        let state = self.state.clone();
        let router = router::build(self.state);
        let rules = door::Rules { rest: self.settings.rest, limiter: ConnectionLimiter::new(self.doors.api_limits()) };
        let serving = tokio::spawn(door::serve(self.listener, router, rules, stop.clone()));
        let abort = serving.abort_handle();
        let gateway = self.gateway.map(|(gateway, door)| {
            let stop = stop.clone();
            tokio::spawn(async move { gateway.serve(vec![door], stop).await })
        });
        // Functions that are still draining may call others, so this listener closes only once
        // nothing runs.
        let quiet = CancellationToken::new();
        let mut inside = {
            let (gateway, door, quiet) = (state.gateway.clone(), Listener::inside(self.inside), quiet.clone());
            tokio::spawn(async move { gateway.serve(vec![door], quiet).await })
        };
        stop.cancelled().await;
        let told = Instant::now();
        // Removed first, so that a new command does not find a server that is stopping.
        let _ = fs::remove_file(&self.server_file);
        state.builds.stop();
        if let Some(gateway) = gateway {
            // The gateway has its own drain deadline.
            let _ = gateway.await;
        }
        let ended = tokio::time::timeout(DRAIN, serving).await;
        // Neither task starts new work, but both may be in the middle of a transaction.
        let _ = working.await;
        if let Some(scheduling) = scheduling {
            let _ = scheduling.await;
        }
        if let Some(watching) = watching {
            let _ = watching.await;
        }
        let _ = checking.await;
        // Must stop before the workers: a worker that was stopped says nothing about its function.
        state.checks.stop().await;
        state.executions.drain(DRAIN.saturating_sub(told.elapsed())).await;
        abort.abort();
        left.cancel();
        let _ = beating.await;
        beat::leave(&state).await;
        sweeping.abort();
        rekeying.abort();
        refreshing.abort();
        runtime.stop(WORKERS_DRAIN).await;
        // All calling functions ended with the workers. Only incomplete request heads can be left.
        quiet.cancel();
        if tokio::time::timeout(INSIDE_DRAIN, &mut inside).await.is_err() {
            inside.abort();
            let _ = inside.await;
        }
        match ended {
            Ok(_) => Ok(()),
            Err(_) => {
                tracing::warn!("requests were still running after {} s and were cut off", DRAIN.as_secs());
                Ok(())
            }
        }
    }
}

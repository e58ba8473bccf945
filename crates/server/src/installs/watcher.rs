//! A task per node that processes due installs.

use std::time::Duration;

use milepost_catalog::CatalogError;
use tokio_util::sync::CancellationToken;

use super::{WATCHER, turn};
use crate::cluster::install_lease::LEASE_MS;
use crate::state::State;

/// Polling interval, in case a notification is lost.
const LOOK: Duration = Duration::from_secs(5);
/// Delay when another node holds what is due.
const SHORTLY: Duration = Duration::from_millis(500);
const DRAIN: Duration = Duration::from_secs(15);

pub(crate) async fn repeat(state: State, stop: CancellationToken) {
    let mut failing = false;
    loop {
        let looked = take(&state, &stop).await;
        if let Err(error) = &looked
            && !failing
        {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "installs wait until the database answers again");
        }
        failing = looked.is_err();
        tokio::select! {
            () = stop.cancelled() => break,
            () = state.installs.changed.notified() => {}
            () = tokio::time::sleep(looked.unwrap_or(LOOK)) => {}
        }
    }
    state.installs.drain(DRAIN).await;
}

/// Takes due installs while there is capacity, and returns how long to wait.
async fn take(state: &State, stop: &CancellationToken) -> Result<Duration, CatalogError> {
    while !stop.is_cancelled() {
        let Some(due) = state.catalog.installs_earliest(LEASE_MS).await? else { return Ok(LOOK) };
        let wait = due.as_millisecond() - state.catalog.now().as_millisecond();
        if let Ok(wait @ 1..) = u64::try_from(wait) {
            return Ok(Duration::from_millis(wait).min(LOOK));
        }
        let free = i64::try_from(state.installs.places.available_permits()).unwrap_or(i64::MAX);
        if free == 0 {
            return Ok(SHORTLY);
        }
        let taken = state.catalog.installs_take_due(&state.installs.holder(), WATCHER, LEASE_MS, free).await?;
        if taken.is_empty() {
            return Ok(SHORTLY);
        }
        for leased in taken {
            // Only this task acquires permits, so the counted ones are still available.
            let place = state.installs.places.clone().try_acquire_owned().ok();
            let state = state.clone();
            state.installs.tasks.clone().spawn(async move {
                let app = leased.lease.app.clone();
                if let Err(error) = turn::turn(&state, leased).await {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, %app, "what a check of an install found could not be written down");
                }
                drop(place);
                state.installs.wake();
            });
        }
    }
    Ok(LOOK)
}

/// The installs of a server, for tests that advance its clock manually.
#[derive(Clone)]
pub struct InstallsDue(pub(crate) State);

impl InstallsDue {
    /// Processes every install due now, and returns how many.
    pub async fn run(&self) -> Result<usize, CatalogError> {
        let state = &self.0;
        let mut looks = 0;
        loop {
            let holder = state.installs.holder();
            let taken = state.catalog.installs_take_due(&holder, WATCHER, LEASE_MS, 100).await?;
            if taken.is_empty() {
                return Ok(looks);
            }
            looks += taken.len();
            futures::future::try_join_all(taken.into_iter().map(|leased| turn::turn(state, leased))).await?;
        }
    }

    /// Makes every install that follows a channel due now.
    pub async fn make_due(&self) -> Result<(), CatalogError> {
        self.0.catalog.installs_make_due().await
    }

    /// The time at which the next install is due.
    pub async fn next(&self) -> Result<Option<milepost_model::Timestamp>, CatalogError> {
        self.0.catalog.installs_earliest(LEASE_MS).await
    }
}

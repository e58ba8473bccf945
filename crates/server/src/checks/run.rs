//! A single check, run under its lease.

use std::collections::HashMap;
use std::time::Duration;

use milepost_catalog::{CatalogError, CheckLease, Settled};
use tokio_util::task::AbortOnDropHandle;

use super::LEASE_MS;
use super::load::{self, Untried};
use crate::state::State;

const RENEW: Duration = Duration::from_millis(LEASE_MS as u64 / 4);
/// Maximum rounds of one run. Latest rarely moves this often during a check; what is left is
/// checked by the next run.
const ROUNDS: usize = 8;

#[derive(Debug, PartialEq)]
pub(super) enum Run {
    Ended,
    /// The check continues elsewhere, or there is nothing left to check.
    Left,
    /// The server could not load the functions, for this reason. The check stays pending and is
    /// retried.
    Unable(String),
}

/// Runs the check of a release. If the server stops, or the database or blob store is unavailable,
/// the check stays pending and another node takes it.
pub(super) async fn run(state: &State, lease: &CheckLease) -> Result<Run, CatalogError> {
    let kept = keep(state, lease);
    let done = tokio::select! {
        done = rounds(state, lease) => done,
        () = state.checks.stop.cancelled() => Ok(Run::Left),
    };
    drop(kept);
    if !matches!(done, Ok(Run::Ended)) {
        state.catalog.check_let_go(lease).await?;
    }
    let done = done?;
    state.checks.ended.notify_waiters();
    Ok(done)
}

async fn rounds(state: &State, lease: &CheckLease) -> Result<Run, CatalogError> {
    let mut found = HashMap::new();
    for _ in 0..ROUNDS {
        let Some(wanted) = state.catalog.check_functions(lease).await? else { return Ok(Run::Left) };
        let tried = load::load_all(state, wanted, &mut found).await;
        match state.apply(state.catalog.check_settle(lease, found.clone()).await?).await {
            Settled::Again => {
                // A function that failed to load ends the check, even if others could not be tried.
                if let Err(Untried::Unable(why)) = tried {
                    return Ok(Run::Unable(why));
                }
            }
            Settled::Done(done) => {
                let check = done.release.check.state.as_str();
                tracing::info!(app = %lease.app, release = %lease.release, check, "a release was checked");
                return Ok(Run::Ended);
            }
            Settled::NotHeld => return Ok(Run::Left),
        }
    }
    Ok(Run::Left)
}

/// Renews the lease until the returned handle is dropped.
fn keep(state: &State, lease: &CheckLease) -> AbortOnDropHandle<()> {
    let (state, lease) = (state.clone(), lease.clone());
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::time::sleep(RENEW).await;
            match state.catalog.check_renew(&lease, LEASE_MS).await {
                Ok(true) => {}
                // The lease is lost. The catalog rejects results written under it.
                Ok(false) => return,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, app = %lease.app, "the lease of a check could not be renewed");
                }
            }
        }
    }))
}

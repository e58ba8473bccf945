//! A task per node that fires due jobs and timers.

use std::time::Duration;

use milepost_catalog::CatalogError;
use tokio_util::sync::CancellationToken;

use super::LOOK;
use crate::cluster::clock;
use crate::state::State;

/// Maximum jobs, and maximum timers, fired by one transaction.
const BATCH: i64 = 200;
/// Delay if another node is about to fire what is due, or a version is being deleted.
const SHORTLY: Duration = Duration::from_millis(100);

pub(crate) async fn repeat(state: State, stop: CancellationToken) {
    let mut failing = false;
    loop {
        let looked = fire(&state, &stop).await;
        if let Err(error) = &looked
            && !failing
        {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "jobs and timers wait until the database answers again");
        }
        failing = looked.is_err();
        tokio::select! {
            () = stop.cancelled() => return,
            () = state.executions.rescheduled.notified() => {}
            () = tokio::time::sleep(looked.unwrap_or(LOOK)) => {}
        }
    }
}

/// Fires everything due and returns how long to wait. Never longer than [`LOOK`], because another
/// node may add something earlier and the system clock may change.
async fn fire(state: &State, stop: &CancellationToken) -> Result<Duration, CatalogError> {
    while !stop.is_cancelled() && clock::is_trusted(&state.catalog) {
        let Some(due) = state.catalog.earliest_due().await? else { return Ok(LOOK) };
        let wait = due.as_millisecond() - state.catalog.now().as_millisecond();
        if let Ok(wait @ 1..) = u64::try_from(wait) {
            return Ok(Duration::from_millis(wait).min(LOOK));
        }
        let fired = state.catalog.fire_due(BATCH).await?;
        if fired.skipped > 0 {
            tracing::info!(fired.skipped, "ticks passed while no server ran and are not made up");
        }
        if fired.executions > 0 {
            state.executions.wake_worker();
        }
        if fired.rows == 0 || fired.postponed > 0 {
            return Ok(SHORTLY);
        }
    }
    Ok(LOOK)
}

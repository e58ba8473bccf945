//! Takes over checks that were not finished by a node that died, or by this one before a restart.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::LEASE_MS;
use super::run::{self, Run};
use crate::state::State;

const LOOK: Duration = Duration::from_secs(5);
/// Checks taken per pass. Below the node's limit, so that other checks can still run.
const MOST: i64 = 4;

pub(crate) async fn repeat(state: State, stop: CancellationToken) {
    let mut failing = false;
    loop {
        let taken = state.catalog.checks_take_due(&state.checks.holder(), LEASE_MS, MOST).await;
        match taken {
            Ok(leases) => {
                failing = false;
                for lease in leases {
                    let state = state.clone();
                    state.checks.tasks.clone().spawn(async move {
                        match run::run(&state, &lease).await {
                            Ok(Run::Unable(why)) => {
                                tracing::warn!(why, app = %lease.app, release = %lease.release, "a check was not possible");
                            }
                            Ok(Run::Ended | Run::Left) => {}
                            Err(error) => {
                                let error = &error as &dyn std::error::Error;
                                tracing::warn!(error, app = %lease.app, release = %lease.release, "a check was not finished");
                            }
                        }
                    });
                }
            }
            Err(error) => {
                if !failing {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "checks of releases wait until the database answers again");
                }
                failing = true;
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

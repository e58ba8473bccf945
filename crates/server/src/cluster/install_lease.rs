//! Holds the lease of an install during work on it.

use std::time::Duration;

use milepost_catalog::{Catalog, InstallLease, LeasedInstall};
use milepost_model::{AppName, Code};
use tokio_util::task::AbortOnDropHandle;

use crate::error::{ApiError, ApiResult};
use crate::state::State;

/// How long the holder of an install has it without renewing its lease.
pub(crate) const LEASE_MS: i64 = 25_000;
const RENEW: Duration = Duration::from_millis(LEASE_MS as u64 / 4);
/// How long a user's request waits while another task holds the install.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// Renews the lease until the returned handle is dropped.
pub(crate) fn keep(catalog: &Catalog, lease: &InstallLease) -> AbortOnDropHandle<()> {
    let (catalog, lease) = (catalog.clone(), lease.clone());
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::time::sleep(RENEW).await;
            match catalog.install_renew(&lease, LEASE_MS).await {
                Ok(true) => {}
                // The lease is lost. The catalog rejects writes under it.
                Ok(false) => return,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, app = %lease.app, "the lease of an install could not be renewed");
                }
            }
        }
    }))
}

/// Takes the lease for a user's request. Waits if a check is running.
pub(crate) async fn take(state: &State, app: &AppName, actor: &str) -> ApiResult<LeasedInstall> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let holder = state.installs.holder();
        let taken = state.catalog.install_take(app, &holder, actor, LEASE_MS).await.map_err(ApiError::from);
        match taken {
            Err(error) if error.0.code == Code::InstallBusy && tokio::time::Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            taken => return taken,
        }
    }
}

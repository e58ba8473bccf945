//! Replaces the fingerprints of old secret versions with ones bound to app and name. See
//! docs/decisions/013.

use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::{Catalog, CatalogError, OldSecret, OldSecretPlace, RekeyedSecret};
use tokio_util::sync::CancellationToken;

use crate::keyring::Keyring;

/// Versions per transaction. Kept small so that other writes to the app can run in between.
const BATCH: i64 = 25;
/// Delay while waiting for old nodes to stop, and after a failure.
const RETRY: Duration = Duration::from_secs(10);
/// Passes repeat because an old node may have been silent for longer than expected.
const EVERY: Duration = Duration::from_secs(3600);

/// Re-keys old secrets and repeats until the server stops.
pub(crate) async fn repeat(catalog: Catalog, keyring: Arc<Keyring>, stop: CancellationToken) {
    let mut told_wait = false;
    loop {
        let wait = match pass(&catalog, &keyring, &stop).await {
            Ok(Pass::Done) => EVERY,
            Ok(Pass::OldNodes) => {
                if !told_wait {
                    tracing::info!("secrets are re-keyed once the servers of an older version have stopped");
                    told_wait = true;
                }
                RETRY
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "secrets could not be re-keyed; trying again");
                RETRY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

enum Pass {
    Done,
    /// Old nodes know only the old fingerprints and would treat every re-keyed secret as changed.
    OldNodes,
}

async fn pass(catalog: &Catalog, keyring: &Arc<Keyring>, stop: &CancellationToken) -> Result<Pass, CatalogError> {
    let (mut place, mut rekeyed) = (OldSecretPlace::default(), 0);
    while !stop.is_cancelled() {
        let batch = catalog.secrets_to_rekey(place, BATCH).await?;
        let Some(last) = batch.last() else { break };
        if catalog.has_nodes_of_old_keys().await? {
            return Ok(Pass::OldNodes);
        }
        place = last.place();
        let keyring = Arc::clone(keyring);
        // Runs on a blocking thread: there may be many long values.
        let work = tokio::task::spawn_blocking(move || {
            batch.into_iter().filter_map(|old| of(&keyring, old)).collect::<Vec<_>>()
        });
        let keyed: Vec<RekeyedSecret> = work.await.unwrap_or_default();
        for app in keyed.chunk_by(|one, other| one.old.app_id == other.old.app_id) {
            rekeyed += catalog.secrets_rekey(app[0].old.app_id, app.to_vec()).await?;
        }
    }
    if rekeyed > 0 {
        tracing::info!(versions = rekeyed, "secrets were re-keyed");
    }
    Ok(Pass::Done)
}

/// Returns `None` if the value cannot be unsealed. That version stays as it is.
fn of(keyring: &Keyring, old: OldSecret) -> Option<RekeyedSecret> {
    let fingerprint = match (&old.sealed, old.content_id) {
        (Some(sealed), _) => {
            let Some(value) = keyring.open_sealed(sealed) else {
                let (app, name, number) = (old.app.as_str(), old.name.as_str(), old.number);
                tracing::warn!(app, name, number, "a version of a secret cannot be opened and is not re-keyed");
                return None;
            };
            keyring.fingerprint(&old.app, &old.name, &value)
        }
        (None, None) => keyring.fingerprint_without_value(&old.app, &old.name, &old.digest),
        (None, Some(_)) => return None,
    };
    Some(RekeyedSecret { old, fingerprint })
}

//! Removes unreferenced content: first from the catalog, then from storage, so that a crash can
//! leave garbage but never a missing object.

use std::time::Duration;

use futures::StreamExt;
use milepost_client::api::Swept;
use tokio_util::sync::CancellationToken;

use crate::error::ApiResult;
use crate::state::State;

/// A running upload has a stored pack without a row, but no upload takes this long.
const ORPHAN_AGE_MS: i64 = 48 * 3600 * 1000;

pub(crate) async fn run(state: &State) -> ApiResult<Swept> {
    let grace = i64::try_from(state.sweep_grace.as_millis()).unwrap_or(i64::MAX);
    let report = state.catalog.sweep(grace).await?;
    let mut packs = 0;
    for name in &report.packs {
        if let Ok(pack) = name.parse() {
            state.blobs.delete(pack).await?;
            packs += 1;
        }
    }
    packs += remove_orphans(state).await?;
    state.metrics.swept_bytes.inc_by(report.bytes);
    state.builds.sweep_caches(state.catalog.now()).await;
    let packages = state.plane.sweep_packages(state.sweep_grace).await?;
    Ok(Swept {
        executions: report.executions,
        versions: report.versions,
        contents: report.contents,
        blobs: report.blobs,
        bytes: report.bytes,
        packs,
        packages,
    })
}

/// Removes stored packs that are not in the catalog because the server died before registering
/// them.
async fn remove_orphans(state: &State) -> ApiResult<u64> {
    let now = state.catalog.now().as_millisecond();
    let mut old = Vec::new();
    let mut listing = state.blobs.list();
    while let Some(pack) = listing.next().await {
        let pack = pack?;
        if now - pack.modified.as_millisecond() > ORPHAN_AGE_MS {
            old.push(pack.name);
        }
    }
    if old.is_empty() {
        return Ok(0);
    }
    // Must run after listing: an old pack that is still unknown now will stay unknown.
    let known = state.catalog.known_packs().await?;
    let mut removed = 0;
    for pack in old.into_iter().filter(|pack| !known.contains(&pack.to_string())) {
        state.blobs.delete(pack).await?;
        removed += 1;
    }
    Ok(removed)
}

pub(crate) async fn repeat(state: State, every: Duration, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Skips the first tick, which fires immediately, to keep start-up fast.
    ticks.tick().await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match run(&state).await {
            Ok(swept) => tracing::info!(?swept, "swept"),
            Err(error) => tracing::error!(message = %error.0, "the sweep failed"),
        }
    }
}

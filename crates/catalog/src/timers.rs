//! The timers of the live release. Every move of live calls this in its own transaction, so the
//! rows always match the live release.

use std::collections::BTreeMap;

use milepost_model::schedule::Schedule;
use milepost_model::{IdSource, Selector, Timestamp};

use crate::db::Tx;
use crate::error::Result;
use crate::ops::fire;
use crate::tables::timers::{self, Held, TimerRow};
use crate::tables::{apps, releases, server_facts};

/// Updates the timers of an app to those of its live release. A timer whose schedule and zone did
/// not change keeps its next firing time, so it neither fires twice nor skips a tick. Ticks that
/// were due before the move are fired first.
pub(crate) async fn reconcile(
    tx: &mut Tx,
    ids: &dyn IdSource,
    app_id: i64,
    live: Option<i64>,
    now: Timestamp,
) -> Result<()> {
    let mut before = timers::of_app(tx, app_id).await?;
    if before.iter().any(|row| row.next_at.is_some_and(|at| at <= now)) {
        fire::fire_before_move(tx, ids, now, &before).await?;
        before = timers::of_app(tx, app_id).await?;
    }
    let mut before: BTreeMap<i64, TimerRow> = before.into_iter().map(|row| (row.unit_id, row)).collect();
    if let Some(release) = live {
        let seq = releases::get(tx, release).await?.app_seq;
        for held in timers::held(tx, app_id, seq).await? {
            let earlier = before.remove(&held.unit_id);
            if let Some(row) = row_of(tx, app_id, seq, &held, earlier.as_ref(), now).await? {
                timers::put(tx, &row).await?;
            }
        }
    }
    for unit_id in before.into_keys() {
        timers::delete(tx, unit_id).await?;
    }
    Ok(())
}

async fn row_of(
    tx: &mut Tx,
    app_id: i64,
    seq: i64,
    held: &Held,
    earlier: Option<&TimerRow>,
    now: Timestamp,
) -> Result<Option<TimerRow>> {
    let spec = &held.spec;
    let Some((function_id, of_release)) = timers::function_at(tx, app_id, seq, &spec.target.function).await? else {
        return Ok(None);
    };
    let alias = spec.target.alias.clone();
    let (version_id, selector) = match (&alias, &spec.target.version) {
        (Some(alias), _) => (None, Selector::Alias(alias.clone())),
        (None, Some(_)) => match timers::pinned_target(tx, held.version_id).await? {
            Some((id, number)) => (Some(id), Selector::Number(number)),
            None => (None, Selector::Latest),
        },
        // Uses the version in the release: a release that is not the newest keeps running its own
        // functions.
        (None, None) => (of_release, Selector::Latest),
    };
    let same = earlier.filter(|row| row.cron == spec.cron && row.zone == spec.zone);
    let next_at = match same {
        Some(row) => row.next_at,
        None => next_after(&spec.cron, &spec.zone, now),
    };
    Ok(Some(TimerRow {
        unit_id: held.unit_id,
        app_id,
        cron: spec.cron.clone(),
        zone: spec.zone.clone(),
        function_id,
        alias,
        version_id,
        selector: selector.to_string(),
        next_at,
    }))
}

/// Schedules are validated when they are put. One from before there was validation, or whose zone
/// no longer exists, never fires.
fn next_after(cron: &str, zone: &str, now: Timestamp) -> Option<Timestamp> {
    match Schedule::parse(cron, zone) {
        Ok(schedule) => schedule.next_after(now),
        Err(error) => {
            tracing::warn!(cron, zone, %error, "a timer has a schedule that cannot be read; it does not fire");
            None
        }
    }
}

/// Name of the server fact that records that existing apps got their timer rows, which happens
/// once.
const ADOPTED: &str = "timers";

impl crate::Catalog {
    /// Creates the timer rows of the live releases in a database from before timers fired.
    pub(crate) async fn adopt_timers(&self) -> Result<()> {
        let done = self.db.read(|tx| Box::pin(async move { server_facts::exists(tx, ADOPTED).await })).await?;
        if done {
            return Ok(());
        }
        let ids = std::sync::Arc::clone(&self.ids);
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.now();
                    for (app_id, live) in apps::lock_all(tx).await? {
                        reconcile(tx, &*ids, app_id, live, now).await?;
                    }
                    server_facts::agree(tx, ADOPTED, "1").await.map(drop)
                })
            })
            .await
    }
}

//! Claims executions from the queue. Apps with the fewest running on the node go first, and apps
//! with equally many take turns. No app runs more than its plan allows, nor so many on one node
//! that other apps get no slot.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use milepost_model::Timestamp;
use milepost_model::clock::from_millis;

use crate::Catalog;
use crate::error::{CatalogError, Result};
use crate::ops::execution::Claimed;
use crate::tables::executions::{self, Waiting};
use crate::tables::nodes;

/// Apps per statement.
const APPS: i64 = 64;

/// A node that has not beaten for this long is dead, if others have.
const DEAD_MS: i64 = 20_000;
/// When no node has beaten for this long, the database was away, and older beats prove nothing.
const LONGEST_GAP_MS: i64 = 10_000;
/// How long an app is passed over after another node held its queue for too long.
const PASSED_OVER: Duration = Duration::from_secs(2);

/// One in this many of a node's slots is kept from the app that has the most.
const KEPT: i64 = 8;

/// Round-robin state that a node keeps between claims.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The app that was served last.
    last: i64,
    /// Maximum number of slots that one app may have on the node.
    share: Option<i64>,
    /// Apps whose queue another node held for too long, and when that was noticed.
    passed_over: HashMap<i64, Instant>,
}

impl Turn {
    /// For a node with this many slots. A single app does not get all of them, because its
    /// executions may run for any length of time.
    pub fn with_places(places: usize) -> Self {
        let places = i64::try_from(places).unwrap_or(i64::MAX);
        Self { share: Some(places - places / KEPT), ..Self::default() }
    }

    /// Whether queued executions may have been left to another node. They must be looked at again
    /// soon, because that node may be lost.
    pub fn left_some(&self) -> bool {
        !self.passed_over.is_empty()
    }

    fn look_again(&mut self) {
        self.passed_over.retain(|_, since| since.elapsed() < PASSED_OVER);
    }
}

/// A node that runs executions, and its last beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    /// `None` if it has left.
    pub beat_at: Option<Timestamp>,
}

impl Catalog {
    /// Records that a node is alive. Must happen before its first claim: the executions of an
    /// unknown node are given back.
    pub async fn node_beat(&self, node: &str) -> Result<()> {
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    tx.hurry().await?;
                    let now = tx.now();
                    nodes::beat(tx, &node, now).await?;
                    nodes::watch(tx, now, LONGEST_GAP_MS).await
                })
            })
            .await
    }

    /// Returns the nodes that hold executions and are gone: they left, or neither they nor a gap in
    /// the beats of all nodes was recorded for 20 seconds. Any node may ask at any time, because
    /// the database remembers since when it was written to.
    pub async fn nodes_dead(&self) -> Result<Vec<Node>> {
        self.db
            .read(|tx| {
                Box::pin(async move {
                    let (now, since) = (tx.now(), nodes::watched_since(tx).await?);
                    let mut nodes = executions::nodes(tx).await?;
                    nodes.retain(|node| node.beat_at.is_none_or(|beat| is_dead(beat, since, now)));
                    Ok(nodes)
                })
            })
            .await
    }

    /// Records that a node has left. Its running executions are given back at once.
    pub async fn node_leave(&self, node: &str) -> Result<()> {
        let node = node.to_owned();
        self.db.write(move |tx| Box::pin(async move { nodes::delete(tx, &node).await })).await
    }

    /// Claims up to `most` queued executions for `node`: apps with the fewest there first, among
    /// equals the one whose turn it is, and of each app the oldest. Returns fewer than `most` only
    /// if nothing else is queued, or if the apps with queued executions run as many as they may.
    ///
    /// The returned executions are running on `node` already. An error is therefore returned only
    /// if nothing was claimed.
    pub async fn executions_claim(&self, node: &str, turn: &mut Turn, most: usize) -> Result<Vec<Claimed>> {
        let mut left = i64::try_from(most).unwrap_or(i64::MAX);
        turn.look_again();
        let mut claimed = Vec::new();
        while left > 0 {
            // Slots that an app leaves unused go to others in the next round.
            let mut taken = 0;
            for (app, share) in shares(self.waiting(node, turn, left).await?, turn, left) {
                // Also after an error: the next claim begins with another app.
                turn.last = app.app_id;
                match self.claim_of(app, node, share).await {
                    // Another node is claiming, or was lost while it did. Other apps do not wait.
                    Err(CatalogError::Busy) => {
                        turn.passed_over.insert(turn.last, Instant::now());
                    }
                    Ok(some) => {
                        taken += some.len() as i64;
                        claimed.extend(some);
                    }
                    Err(error) if claimed.is_empty() => return Err(error),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, app = turn.last, "executions of an app could not be claimed");
                        return Ok(claimed);
                    }
                }
            }
            if taken == 0 {
                break;
            }
            left -= taken;
        }
        Ok(claimed)
    }

    /// Returns apps with queued executions that may run more, starting after the last turn and
    /// wrapping around: one page of them, or as many as are needed.
    async fn waiting(&self, node: &str, turn: &Turn, most: i64) -> Result<Vec<Waiting>> {
        let began = turn.last;
        let mut found = Vec::new();
        let (mut after, mut wrapped) = (began, false);
        while (found.len() as i64) < most.max(APPS) {
            let node = node.to_owned();
            let page = self
                .db
                .read(move |tx| {
                    Box::pin(async move {
                        let now = tx.now();
                        executions::waiting(tx, &node, now, after, APPS).await
                    })
                })
                .await?;
            let last = page.last().map(|app| app.app_id).filter(|_| page.len() as i64 == APPS);
            // After the wrap, apps past the start were already visited.
            let wanted = |app: &Waiting| {
                may_have(app, turn) > 0
                    && (!wrapped || app.app_id <= began)
                    && !turn.passed_over.contains_key(&app.app_id)
            };
            found.extend(page.into_iter().filter(wanted));
            match last {
                Some(last) if !wrapped || last < began => after = last,
                _ if wrapped || began == 0 => break,
                _ => (after, wrapped) = (0, true),
            }
        }
        Ok(found)
    }

    /// Handles one app per transaction: counting and claiming an app's executions are serialised,
    /// and no transaction waits while it holds another app.
    async fn claim_of(&self, app: Waiting, node: &str, most: i64) -> Result<Vec<Claimed>> {
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    tx.queue_briefly(&format!("milepost claim {}", app.app_id)).await?;
                    let now = tx.now();
                    let running = executions::running(tx, app.app_id).await?;
                    let most = most.min(room(&app, running));
                    if most <= 0 {
                        return Ok(Vec::new());
                    }
                    let ids = executions::claim(tx, app.app_id, &node, now, most).await?;
                    let rows = executions::get_many(tx, &ids).await?;
                    let mut claimed = Vec::with_capacity(rows.len());
                    for row in crate::read::with_attempts(tx, rows).await? {
                        let version_id = row.version_id.ok_or_else(|| {
                            CatalogError::inconsistent(format!("execution {} has no version", row.execution.id))
                        })?;
                        claimed.push(Claimed {
                            app: row.app,
                            version_id,
                            attempt: row.attempt,
                            execution: row.execution,
                        });
                    }
                    Ok(claimed)
                })
            })
            .await
    }

    /// Returns the executions recorded as running on a node, with their attempts, except those that
    /// began in the last `young_ms`.
    pub async fn executions_held(&self, node: &str, young_ms: i64) -> Result<Vec<(String, i64)>> {
        let node = node.to_owned();
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let cutoff = from_millis(tx.now().as_millisecond() - young_ms);
                    executions::held(tx, &node, cutoff).await
                })
            })
            .await
    }

    /// Returns the executions of a node that are to be cancelled, with their attempts.
    pub async fn executions_cancelling(&self, node: &str) -> Result<Vec<(String, i64)>> {
        let node = node.to_owned();
        self.db.read(move |tx| Box::pin(async move { executions::cancelling(tx, &node).await })).await
    }

    /// Notifies other servers that there is something to run or to stop. Separate from the writes
    /// that it is about, because on PostgreSQL a notification serialises the commits of all
    /// transactions that send one. Call it no more often than needed.
    pub async fn executions_tell(&self) -> Result<()> {
        self.db.write(|tx| Box::pin(async move { tx.tell_executions().await })).await
    }
}

/// A beat in the future was written before a failover to a machine whose clock is behind.
fn is_dead(beat: Timestamp, since: Timestamp, now: Timestamp) -> bool {
    let last = if beat > now { since } else { beat.max(since) };
    now.as_millisecond() - last.as_millisecond() >= DEAD_MS
}

fn room(app: &Waiting, running: i64) -> i64 {
    i64::from(app.plan.limits().executions_at_once) - running
}

/// Returns how many more executions an app may have on this node.
fn may_have(app: &Waiting, turn: &Turn) -> i64 {
    let share = turn.share.map_or(i64::MAX, |share| share - app.here);
    room(app, app.running).min(share)
}

/// Distributes the free slots: each goes to the app with the fewest executions on the node, and
/// among equals to the earlier one.
fn shares(apps: Vec<Waiting>, turn: &Turn, free: i64) -> Vec<(Waiting, i64)> {
    let mut given: Vec<(Waiting, i64)> = apps.into_iter().map(|app| (app, 0)).collect();
    for _ in 0..free {
        let poorest = given
            .iter_mut()
            .filter(|(app, given)| *given < may_have(app, turn))
            .min_by_key(|(app, given)| app.here + *given);
        match poorest {
            Some((_, given)) => *given += 1,
            None => break,
        }
    }
    given.retain(|(_, given)| *given > 0);
    given
}

#[cfg(test)]
mod tests {
    use milepost_model::PlanName;

    use super::*;

    fn app(app_id: i64, plan: PlanName, here: i64) -> Waiting {
        Waiting { app_id, plan, running: here, here }
    }

    fn given(apps: Vec<Waiting>, turn: Turn, free: i64) -> Vec<(i64, i64)> {
        shares(apps, &turn, free).into_iter().map(|(app, given)| (app.app_id, given)).collect()
    }

    #[test]
    fn free_slots_go_to_the_app_with_the_fewest() {
        let (greedy, late) = (app(1, PlanName::Standard, 20), app(2, PlanName::Standard, 0));
        assert_eq!(given(vec![greedy.clone(), late.clone()], Turn::default(), 4), [(2, 4)]);
        assert_eq!(given(vec![greedy, late], Turn::default(), 24), [(1, 2), (2, 22)]);
        let equal = vec![app(7, PlanName::Standard, 3), app(3, PlanName::Standard, 3)];
        assert_eq!(given(equal, Turn::default(), 3), [(7, 2), (3, 1)], "in the order of turns");
    }

    #[test]
    fn a_single_app_leaves_one_slot_in_eight() {
        let alone = |here| vec![app(1, PlanName::Unlimited, here)];
        assert_eq!(given(alone(0), Turn::with_places(32), 32), [(1, 28)]);
        assert_eq!(given(alone(27), Turn::with_places(32), 5), [(1, 1)]);
        assert_eq!(given(alone(28), Turn::with_places(32), 4), []);
        assert_eq!(given(alone(0), Turn::with_places(4), 4), [(1, 4)]);
        assert_eq!(given(vec![app(1, PlanName::Free, 1)], Turn::with_places(32), 31), [(1, 3)], "the plan's bound");
    }
}

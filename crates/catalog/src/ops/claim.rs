//! Taking executions from the queue. The app that has the fewest on the node comes first, apps that have equally many take
//! turns, and none has more running than its plan allows, nor more on a node than leaves others a place.

use milepost_model::Timestamp;
use milepost_model::clock::from_millis;

use crate::Catalog;
use crate::error::{CatalogError, Result};
use crate::ops::execution::Claimed;
use crate::tables::executions::{self, Waiting};
use crate::tables::nodes;

/// Apps looked at in one statement.
const APPS: i64 = 64;

/// Of so many places of a node one is kept from the app that has the most.
const KEPT: i64 = 8;

/// Whose turn is next. A node keeps it from one claim to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// The app that had the last one.
    last: i64,
    /// What one app may have on the node.
    share: Option<i64>,
}

impl Turn {
    /// On a node with so many places. One app alone does not get all of them, since nobody knows how long it would keep
    /// them.
    pub fn with_places(places: usize) -> Self {
        let places = i64::try_from(places).unwrap_or(i64::MAX);
        Self { last: 0, share: Some(places - places / KEPT) }
    }
}

/// A node that runs something, and its last beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    /// None when it has left.
    pub beat_at: Option<Timestamp>,
}

impl Catalog {
    /// Says that a node lives. The first time before it claims anything: what an unknown node has is given back.
    pub async fn node_beat(&self, node: &str) -> Result<()> {
        let (node, now) = (node.to_owned(), self.clock.now());
        self.db.write(move |tx| Box::pin(async move { nodes::beat(tx, &node, now).await })).await
    }

    /// Says that a node is gone: what it has left running is given back at once.
    pub async fn node_leave(&self, node: &str) -> Result<()> {
        let node = node.to_owned();
        self.db.write(move |tx| Box::pin(async move { nodes::delete(tx, &node).await })).await
    }

    /// Takes up to `most` queued executions, which are running on `node` from now on: beginning with the apps that have the
    /// fewest there, and among those with the one whose turn it is; of an app the oldest. With fewer than `most`, nothing
    /// else is queued, or the apps that have some run as many as they may.
    /// What is answered runs on `node` whatever happened after it was taken, so an error is told only when nothing was.
    pub async fn executions_claim(&self, node: &str, turn: &mut Turn, most: usize) -> Result<Vec<Claimed>> {
        let mut left = i64::try_from(most).unwrap_or(i64::MAX);
        let mut claimed = Vec::new();
        while left > 0 {
            // What one app leaves of its share is for the others, in another round.
            let mut taken = 0;
            for (app, share) in shares(self.waiting(node, turn, left).await?, turn, left) {
                // It has had its turn also when it failed: the next claim begins with another app.
                turn.last = app.app_id;
                match self.claim_of(app, node, share).await {
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

    /// Apps with something queued that may run more, from the one whose turn it is round to it again: a page of them, or
    /// as many as are needed.
    async fn waiting(&self, node: &str, turn: &Turn, most: i64) -> Result<Vec<Waiting>> {
        let (began, now) = (turn.last, self.clock.now());
        let mut found = Vec::new();
        let (mut after, mut wrapped) = (began, false);
        while (found.len() as i64) < most.max(APPS) {
            let node = node.to_owned();
            let page = self
                .db
                .read(move |tx| Box::pin(async move { executions::waiting(tx, &node, now, after, APPS).await }))
                .await?;
            let last = page.last().map(|app| app.app_id).filter(|_| page.len() as i64 == APPS);
            // Those after the beginning were looked at before the turn came round.
            let wanted = |app: &Waiting| may_have(app, turn) > 0 && (!wrapped || app.app_id <= began);
            found.extend(page.into_iter().filter(wanted));
            match last {
                Some(last) if !wrapped || last < began => after = last,
                _ if wrapped || began == 0 => break,
                _ => (after, wrapped) = (0, true),
            }
        }
        Ok(found)
    }

    /// One app, one transaction: who counts an app's executions and who adds to them take turns, and nobody waits while
    /// holding another app.
    async fn claim_of(&self, app: Waiting, node: &str, most: i64) -> Result<Vec<Claimed>> {
        let (node, now) = (node.to_owned(), self.clock.now());
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    tx.queue_for(&format!("milepost claim {}", app.app_id)).await?;
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

    /// What runs on a node by the book, with its attempts, unless it was begun in the last `young_ms`.
    pub async fn executions_held(&self, node: &str, young_ms: i64) -> Result<Vec<(String, i64)>> {
        let cutoff = from_millis(self.clock.now().as_millisecond() - young_ms);
        let node = node.to_owned();
        self.db.read(move |tx| Box::pin(async move { executions::held(tx, &node, cutoff).await })).await
    }

    /// The executions of a node that somebody wants to end, with their attempts.
    pub async fn executions_cancelling(&self, node: &str) -> Result<Vec<(String, i64)>> {
        let node = node.to_owned();
        self.db.read(move |tx| Box::pin(async move { executions::cancelling(tx, &node).await })).await
    }

    /// Tells other servers that there is something to run or to stop. Apart from what it tells of, because on PostgreSQL a
    /// notice makes the commits of all who give one follow each other; so not more often than they need to know.
    pub async fn executions_tell(&self) -> Result<()> {
        self.db.write(|tx| Box::pin(async move { tx.tell_executions().await })).await
    }
}

fn room(app: &Waiting, running: i64) -> i64 {
    i64::from(app.plan.limits().executions_at_once) - running
}

/// How many more an app may have on this node.
fn may_have(app: &Waiting, turn: &Turn) -> i64 {
    let share = turn.share.map_or(i64::MAX, |share| share - app.here);
    room(app, app.running).min(share)
}

/// Who gets how many of the free places: each place goes to the app that has the fewest, the earlier one of those that
/// have equally many.
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
    fn a_free_place_goes_to_who_has_the_fewest() {
        let (greedy, late) = (app(1, PlanName::Standard, 20), app(2, PlanName::Standard, 0));
        assert_eq!(given(vec![greedy.clone(), late.clone()], Turn::default(), 4), [(2, 4)]);
        assert_eq!(given(vec![greedy, late], Turn::default(), 24), [(1, 2), (2, 22)]);
        let equal = vec![app(7, PlanName::Standard, 3), app(3, PlanName::Standard, 3)];
        assert_eq!(given(equal, Turn::default(), 3), [(7, 2), (3, 1)], "in the order of turns");
    }

    #[test]
    fn one_app_alone_leaves_a_place_in_eight_and_all_of_a_few() {
        let alone = |here| vec![app(1, PlanName::Unlimited, here)];
        assert_eq!(given(alone(0), Turn::with_places(32), 32), [(1, 28)]);
        assert_eq!(given(alone(27), Turn::with_places(32), 5), [(1, 1)]);
        assert_eq!(given(alone(28), Turn::with_places(32), 4), []);
        assert_eq!(given(alone(0), Turn::with_places(4), 4), [(1, 4)]);
        assert_eq!(given(vec![app(1, PlanName::Free, 1)], Turn::with_places(32), 31), [(1, 3)], "the plan's bound");
    }
}

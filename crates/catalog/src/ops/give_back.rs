//! Gives back executions whose node died, and removes those that ended long ago.

use std::time::Duration;

use milepost_model::clock::from_millis;
use milepost_model::execution::{Attempt, AttemptEnd, ExecutionStatus};
use milepost_model::{RawJson, Timestamp};

use crate::Catalog;
use crate::db::Tx;
use crate::error::Result;
use crate::ops::claim::Node;
use crate::tables::execution_retention;
use crate::tables::executions::{self, Lost};
use crate::tables::{apps, attempts, jobs, nodes};

/// Rows per transaction, so that other writes get through in between.
const BATCH: i64 = 500;
/// Deaths after which an execution ends, even if no attempt reached an instance: the execution may
/// be what crashes its servers before that is recorded.
const MOST_DEATHS: i64 = 10;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// How long nodes try to start an execution.
const UNSTARTED_MS: i64 = 3600 * 1000;
/// Bounds of the time between two tries.
const SHORTEST_MS: i64 = 1000;
const LONGEST_MS: i64 = 60_000;

/// The result of giving executions back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenBack {
    /// Executions that are queued for another attempt.
    pub requeued: u64,
    /// Executions that ended: too many attempts, no waiting caller, or cancelled.
    pub ended: u64,
}

impl std::ops::AddAssign for GivenBack {
    fn add_assign(&mut self, other: Self) {
        self.requeued += other.requeued;
        self.ended += other.ended;
    }
}

impl Catalog {
    /// Returns the nodes with running executions and their last beats.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        self.db.read(|tx| Box::pin(async move { executions::nodes(tx).await })).await
    }

    /// Gives back the executions of nodes that still have the given last beat: a node that beats
    /// again is alive. [`Catalog::nodes_dead`] finds them.
    pub async fn give_back_dead(&self, dead: Vec<Node>, max_attempts: i64) -> Result<GivenBack> {
        let mut found = GivenBack::default();
        for node in dead {
            found += self.give_back(Some(node), max_attempts).await?;
        }
        self.db
            .write(|tx| {
                Box::pin(async move {
                    let forgotten = from_millis(tx.now().as_millisecond() - DAY_MS);
                    nodes::forget_before(tx, forgotten).await
                })
            })
            .await?;
        Ok(found)
    }

    /// Gives back everything that runs. For the start of a server that runs alone.
    pub async fn give_back_all(&self, max_attempts: i64) -> Result<GivenBack> {
        self.give_back(None, max_attempts).await
    }

    /// Gives back one attempt that its node does not know. Does nothing if it is no longer the
    /// current one.
    pub async fn give_back_attempt(
        &self,
        id: String,
        node: &str,
        attempt: i64,
        max_attempts: i64,
    ) -> Result<GivenBack> {
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(lost) = executions::lost_attempt(tx, &id, &node, attempt).await? else {
                        return Ok(GivenBack::default());
                    };
                    let now = tx.now();
                    let again = settle(tx, &lost, now, max_attempts).await?;
                    Ok(GivenBack { requeued: u64::from(again), ended: u64::from(!again) })
                })
            })
            .await
    }

    /// Gives back an attempt because the server stops. It is recorded but does not count as a
    /// death. Returns false if it is no longer the current one.
    pub async fn execution_stop(&self, id: String, node: &str, attempt: i64) -> Result<bool> {
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(lost) = executions::lost_attempt(tx, &id, &node, attempt).await? else { return Ok(false) };
                    let now = tx.now();
                    record(tx, &lost, AttemptEnd::Stopped, now).await?;
                    if !end_without_retry(tx, &lost, now).await? {
                        executions::requeue(tx, &id).await?;
                    }
                    Ok(true)
                })
            })
            .await
    }

    /// Records that an instance has the attempt, so that it counts if its node dies. Returns false
    /// if it is no longer the current one. A first attempt counts in any case.
    pub async fn execution_begin(&self, id: String, node: &str, attempt: i64) -> Result<bool> {
        let node = node.to_owned();
        self.db.write(move |tx| Box::pin(async move { executions::begin(tx, &id, &node, attempt).await })).await
    }

    /// Gives back an attempt that could not begin because all instances were busy: as if it had not
    /// been claimed, and not to be claimed again for `by_ms`. Returns false if it is no longer the
    /// current one.
    pub async fn execution_postpone(&self, id: String, node: &str, attempt: i64, by_ms: i64) -> Result<bool> {
        let node = node.to_owned();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(lost) = executions::lost_attempt(tx, &id, &node, attempt).await? else { return Ok(false) };
                    let now = tx.now();
                    if !end_without_retry(tx, &lost, now).await? {
                        executions::unclaim(tx, &id, from_millis(now.as_millisecond() + by_ms)).await?;
                    }
                    Ok(true)
                })
            })
            .await
    }

    /// Gives back an attempt that its node could not start: as if it had not been claimed, and not
    /// to be claimed again for the returned time, which grows with the time since the first claim.
    /// After an hour it ends with the reason. Returns `None` if it ended, or if the attempt is no
    /// longer the current one.
    pub async fn execution_unstarted(
        &self,
        id: String,
        node: &str,
        attempt: i64,
        why: &str,
    ) -> Result<Option<Duration>> {
        let (node, why) = (node.to_owned(), format!("No server could start it within an hour. {why}"));
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(lost) = executions::lost_attempt(tx, &id, &node, attempt).await? else { return Ok(None) };
                    let now = tx.now();
                    if end_without_retry(tx, &lost, now).await? {
                        return Ok(None);
                    }
                    let since = executions::started_at(tx, &id).await?.unwrap_or(now);
                    let tried_ms = now.as_millisecond() - since.as_millisecond();
                    if tried_ms >= UNSTARTED_MS {
                        let why = RawJson::from(&*why);
                        executions::end(tx, &id, ExecutionStatus::Error, Some(&why), now).await?;
                        return Ok(None);
                    }
                    let delay_ms = (tried_ms / 4).clamp(SHORTEST_MS, LONGEST_MS);
                    executions::unclaim_unstarted(tx, &id, from_millis(now.as_millisecond() + delay_ms)).await?;
                    Ok(Some(Duration::from_millis(delay_ms.unsigned_abs())))
                })
            })
            .await
    }

    async fn give_back(&self, dead: Option<Node>, max_attempts: i64) -> Result<GivenBack> {
        let mut total = GivenBack::default();
        loop {
            let dead = dead.clone();
            let batch = self
                .db
                .write(move |tx| {
                    Box::pin(async move {
                        let (mut batch, now) = (GivenBack::default(), tx.now());
                        for lost in executions::lost(tx, dead.as_ref(), BATCH).await? {
                            if settle(tx, &lost, now, max_attempts).await? {
                                batch.requeued += 1;
                            } else {
                                batch.ended += 1;
                            }
                        }
                        Ok(batch)
                    })
                })
                .await?;
            total += batch;
            if batch == GivenBack::default() {
                return Ok(total);
            }
        }
    }

    /// Deletes ended executions beyond the age or number that their apps' plans keep. Part of
    /// [`Catalog::sweep`]. Ended jobs are deleted at the same age.
    pub(crate) async fn sweep_executions(&self) -> Result<u64> {
        let now = self.now();
        let apps = self.db.read(|tx| Box::pin(async move { apps::with_ended(tx).await })).await?;
        let mut swept = 0;
        for (app_id, plan, deleted) in apps {
            let limits = plan.limits();
            let kept_ms = if deleted { 0 } else { i64::from(limits.execution_days) * DAY_MS };
            let old = from_millis(now.as_millisecond() - kept_ms - i64::from(!deleted));
            // Above every id, so that all executions of that moment are included.
            swept += self.sweep_up_to(app_id, old, "z".to_owned()).await?;
            self.db.write(move |tx| Box::pin(async move { jobs::forget_ended(tx, app_id, old).await })).await?;
            if let Some(keep) = limits.executions_kept {
                let beyond = self
                    .db
                    .read(move |tx| {
                        Box::pin(async move { execution_retention::beyond(tx, app_id, i64::from(keep)).await })
                    })
                    .await?;
                if let Some((at, id)) = beyond {
                    swept += self.sweep_up_to(app_id, at, id).await?;
                }
            }
        }
        Ok(swept)
    }

    async fn sweep_up_to(&self, app_id: i64, at: Timestamp, id: String) -> Result<u64> {
        let mut swept = 0;
        loop {
            let id = id.clone();
            let gone = self
                .db
                .write(move |tx| {
                    Box::pin(async move {
                        let ids = execution_retention::ended_up_to(tx, app_id, (at, &id), BATCH).await?;
                        execution_retention::delete(tx, &ids).await
                    })
                })
                .await?;
            swept += gone;
            if gone == 0 {
                return Ok(swept);
            }
        }
    }
}

/// Returns true if the execution is to be retried.
async fn settle(tx: &mut Tx, lost: &Lost, now: Timestamp, max_attempts: i64) -> Result<bool> {
    record(tx, lost, if lost.begun { AttemptEnd::Lost } else { AttemptEnd::Unbegun }, now).await?;
    if end_without_retry(tx, lost, now).await? {
        return Ok(false);
    }
    let deaths = attempts::deaths(tx, &lost.id).await?;
    let why = if deaths.begun >= max_attempts {
        let times = if deaths.begun == 1 { "once".to_owned() } else { format!("{} times", deaths.begun) };
        format!("The server died while it ran, {times}; it is not tried again.")
    } else if deaths.all >= MOST_DEATHS {
        format!("The server died {} times while it ran or was about to; it is not tried again.", deaths.all)
    } else {
        executions::requeue(tx, &lost.id).await?;
        return Ok(true);
    };
    executions::end(tx, &lost.id, ExecutionStatus::Error, Some(&RawJson::from(&*why)), now).await?;
    Ok(false)
}

async fn record(tx: &mut Tx, lost: &Lost, end: AttemptEnd, now: Timestamp) -> Result<()> {
    let attempt = Attempt {
        number: lost.attempt,
        started_at: lost.attempt_at,
        ended_at: Some(now),
        node: lost.node.clone(),
        end: Some(end),
    };
    attempts::insert(tx, &lost.id, &attempt, now).await
}

/// Ends an execution that must not be retried, however it was given back. Returns whether it did.
async fn end_without_retry(tx: &mut Tx, lost: &Lost, now: Timestamp) -> Result<bool> {
    let (status, why) = if lost.cancel {
        (ExecutionStatus::Cancelled, None)
    } else if lost.sync {
        let why = "The server stopped while it ran, and its caller is gone.";
        (ExecutionStatus::Error, Some(RawJson::from(why)))
    } else {
        return Ok(false);
    };
    executions::end(tx, &lost.id, status, why.as_ref(), now).await?;
    Ok(true)
}

//! Taking executions from the queue. Apps take turns, and none has more running than its plan allows.

use milepost_model::clock::from_millis;

use crate::Catalog;
use crate::error::{CatalogError, Result};
use crate::ops::execution::Claimed;
use crate::tables::executions::{self, Waiting};
use crate::tables::nodes;

/// Apps looked at in one statement.
const APPS: i64 = 64;

/// Whose turn is next. A node keeps it from one claim to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn(i64);

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

    /// Takes up to `most` queued executions, which are running on `node` from now on: of each app its share, beginning
    /// with the app whose turn it is, of an app the oldest. What one app leaves of its share is for the next call: ask
    /// until the answer is empty. Then nothing is queued, or the apps that have some run as many as they may.
    /// What is answered runs on `node` whatever happened after it was taken, so an error is told only when nothing was.
    pub async fn executions_claim(&self, node: &str, turn: &mut Turn, most: usize) -> Result<Vec<Claimed>> {
        let mut left = i64::try_from(most).unwrap_or(i64::MAX);
        let waiting = self.waiting(turn.0, left).await?;
        let mut apps = waiting.len() as i64;
        let mut claimed = Vec::new();
        for app in waiting {
            let share = (left + apps - 1) / apps;
            apps -= 1;
            if share > 0 {
                // It has had its turn also when it failed: the next claim begins with another app.
                turn.0 = app.app_id;
                match self.claim_of(app, node, share).await {
                    Ok(taken) => {
                        left -= taken.len() as i64;
                        claimed.extend(taken);
                    }
                    Err(error) if claimed.is_empty() => return Err(error),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, app = turn.0, "executions of an app could not be claimed");
                        break;
                    }
                }
            }
        }
        Ok(claimed)
    }

    /// Apps with something queued that may run more, from the one whose turn it is round to it again; as many as are
    /// needed.
    async fn waiting(&self, began: i64, most: i64) -> Result<Vec<Waiting>> {
        let mut found = Vec::new();
        let (mut after, mut wrapped) = (began, false);
        while (found.len() as i64) < most {
            let page =
                self.db.read(move |tx| Box::pin(async move { executions::waiting(tx, after, APPS).await })).await?;
            let last = page.last().map(|app| app.app_id).filter(|_| page.len() as i64 == APPS);
            // Those after the beginning were looked at before the turn came round.
            found
                .extend(page.into_iter().filter(|app| room(app, app.running) > 0 && (!wrapped || app.app_id <= began)));
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

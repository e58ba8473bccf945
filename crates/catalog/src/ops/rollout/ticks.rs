//! What nodes saw of a rollout, and who judges it. Neither locks the app's row.

use milepost_model::rollout::judge::Tick;
use milepost_model::{AppName, Timestamp};

use super::look;
use crate::Catalog;
use crate::error::Result;
use crate::tables::{apps, rollout_ticks, rollouts};

/// Rollouts that one call takes.
const MOST: i64 = 1000;

/// A tick of one node.
#[derive(Debug, Clone)]
pub struct NewTick {
    pub rollout: String,
    pub node: String,
    /// Counts up on the node: a tick that is sent twice counts once.
    pub number: i64,
    pub step: usize,
    pub ended_at: Timestamp,
    pub tick: Box<Tick>,
}

/// All that nodes saw in one tick of the judge, in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedTick {
    pub number: i64,
    pub step: usize,
    pub ended_at: Timestamp,
    pub tick: Tick,
}

impl Catalog {
    /// Records a tick. Returns false, with nothing recorded, if the rollout has ended.
    pub async fn rollout_tick(&self, app: &AppName, new: NewTick) -> Result<bool> {
        let app = app.clone();
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let row = look::find(tx, &app, &new.rollout).await?;
                    if !row.rollout.is_open() {
                        return Ok(false);
                    }
                    let key = (new.node.as_str(), new.number);
                    rollout_ticks::insert(tx, row.id, key, (new.step as i64, new.ended_at), &new.tick).await?;
                    Ok(true)
                })
            })
            .await
    }

    /// Takes all open rollouts that no other holder judges, and keeps those that this one has.
    pub async fn rollouts_judge(&self, holder: &str, lease_ms: i64) -> Result<Vec<(AppName, String)>> {
        let holder = holder.to_owned();
        self.db.write(move |tx| Box::pin(async move { rollouts::take(tx, &holder, lease_ms, MOST).await })).await
    }

    /// Closes the judge's present tick and returns all ticks after one. What comes late joins the
    /// next. Returns None if the holder has lost its lease.
    pub async fn rollout_ticks(
        &self,
        app: &AppName,
        rollout: String,
        holder: &str,
        after: i64,
    ) -> Result<Option<Vec<JudgedTick>>> {
        let (app, holder) = (app.clone(), holder.to_owned());
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    let app = apps::get(tx, &app).await?;
                    let row = look::find(tx, &app, &rollout).await?;
                    if !rollouts::is_held(tx, row.id, &holder).await? {
                        return Ok(None);
                    }
                    rollout_ticks::close(tx, row.id).await?;
                    Ok(Some(merged(rollout_ticks::after(tx, row.id, after).await?)))
                })
            })
            .await
    }
}

/// Joins the rows of all nodes in a tick. Rows of an earlier step stay apart: their buckets had
/// other arms.
fn merged(rows: Vec<rollout_ticks::TickRow>) -> Vec<JudgedTick> {
    let mut ticks: Vec<JudgedTick> = Vec::new();
    for row in rows {
        let step = usize::try_from(row.step).unwrap_or(0);
        match ticks.iter_mut().rev().take_while(|tick| tick.number == row.closed).find(|tick| tick.step == step) {
            Some(tick) => {
                tick.tick.merge(&row.tick);
                tick.ended_at = tick.ended_at.max(row.ended_at);
            }
            None => ticks.push(JudgedTick { number: row.closed, step, ended_at: row.ended_at, tick: row.tick }),
        }
    }
    ticks
}

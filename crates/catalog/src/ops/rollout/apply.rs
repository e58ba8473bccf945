use milepost_model::event::EventKind;
use milepost_model::pointer::Step;
use milepost_model::release::LiveMode;
use milepost_model::rollout::{AbortReason, Event, Rollout, RolloutView, Shift};
use milepost_model::split::{Arm, Salt, Split, Weight};
use milepost_model::{AppName, Refusal};
use serde_json::json;

use super::{look, view};
use crate::db::Ending;
use crate::error::{CatalogError, Result};
use crate::ops::install_live::{live_kept, live_moved};
use crate::releasing;
use crate::tables::pointer_moves::{self, NewMove};
use crate::tables::rollouts::{self, RolloutRow};
use crate::tables::splits;
use crate::work::Work;
use crate::{Catalog, Written};

/// An event for a rollout.
#[derive(Debug, Clone)]
pub struct RolloutEvent {
    pub rollout: String,
    pub event: Event,
    pub why: String,
}

impl Catalog {
    /// Applies an event to a rollout. Refused, with nothing changed, if it does not fit the state.
    pub async fn rollout_apply(&self, app: &AppName, actor: &str, new: RolloutEvent) -> Result<Written<RolloutView>> {
        self.work(app, actor, Ending::Commit, move |work| {
            Box::pin(async move {
                let row = look::find(work.tx, &work.app, &new.rollout).await?;
                Ok(view(transition(work, row, &new.event, &new.why).await?))
            })
        })
        .await
    }
}

/// Aborts the open rollout because of a rollback. Returns false if there is none.
pub(crate) async fn roll_back(work: &mut Work<'_>, why: &str) -> Result<bool> {
    let Some(open) = rollouts::open(work.tx, work.app.id).await? else { return Ok(false) };
    transition(work, open, &Event::Abort { reason: AbortReason::Rollback }, why).await?;
    Ok(true)
}

pub(super) async fn transition(
    work: &mut Work<'_>,
    mut row: RolloutRow,
    event: &Event,
    why: &str,
) -> Result<RolloutRow> {
    let applied = row.rollout.apply(event, work.act.at).map_err(Refusal::from)?;
    let Some(record) = applied.record else { return Ok(row) };
    row.rollout = applied.rollout;
    if !row.rollout.is_open() {
        row.ended_at = Some(work.act.at);
    }
    // Saved first: a closed rollout no longer keeps live where it is.
    rollouts::save(work.tx, &row).await?;
    let subject = format!("rollout {}", row.name);
    let kind = if row.rollout.is_open() { EventKind::RolloutChanged } else { EventKind::RolloutEnded };
    let mut after = json!(record.to);
    if let Some(verdict) = &record.verdict {
        after["verdict"] = json!(verdict);
    }
    after["why"] = json!(why);
    work.event(kind, &subject, Some(json!(record.from)), Some(after));
    match applied.shift {
        Some(Shift::Weigh(weight)) => weigh(work, &row.rollout, weight, &subject).await?,
        Some(Shift::AllBase) => {
            stand_beside(work, None, &format!("{subject}: {}", row.rollout.state.as_str())).await?;
            // The user has decided where live stays. A newer candidate decides again.
            if *event != Event::Supersede {
                live_kept(work).await?;
            }
        }
        Some(Shift::AllCandidate) => promote(work, &row, &subject).await?,
        None => {}
    }
    Ok(row)
}

async fn weigh(work: &mut Work<'_>, rollout: &Rollout, weight: Weight, why: &str) -> Result<()> {
    let arms = vec![
        Arm { target: rollout.base.clone(), weight: weight.rest() },
        Arm { target: rollout.candidate.clone(), weight },
    ];
    let split = match work.app.live_split_id {
        Some(id) => {
            let before = splits::before(work.tx, id).await?;
            splits::get(work.tx, id).await?.reweigh(arms, before.as_ref())
        }
        None => Split::new(Salt::random(&*work.ids), arms),
    };
    let split = split.map_err(|error| CatalogError::inconsistent(error.to_string()))?;
    let id = splits::insert(work.tx, work.app.id, work.app.live_split_id, &split).await?;
    stand_beside(work, Some(id), &format!("{why}: {weight} %")).await
}

/// Moves the split beside live. Live itself stays.
async fn stand_beside(work: &mut Work<'_>, split: Option<i64>, why: &str) -> Result<()> {
    let (from, live) = (work.app.live_split_id, work.app.live_release_id);
    if from == split {
        return Ok(());
    }
    let stay = NewMove { from_id: live, to_id: live, step: Step::Forward, at: work.act.at, by: &work.act.actor, why };
    pointer_moves::insert_split(work.tx, work.app.id, &stay, (from, split)).await?;
    work.app.live_split_id = split;
    Ok(())
}

/// Live follows again only if that keeps it at the candidate.
async fn promote(work: &mut Work<'_>, row: &RolloutRow, why: &str) -> Result<()> {
    let follows = row.live_mode == LiveMode::Following && work.app.latest_release_id == Some(row.candidate_id);
    work.app.live_mode = if follows { LiveMode::Following } else { LiveMode::Pinned };
    stand_beside(work, None, &format!("{why}: promoted")).await?;
    releasing::move_live(work, Some(row.candidate_id), Step::Forward, &format!("{why}: promoted")).await?;
    live_moved(work, why).await
}

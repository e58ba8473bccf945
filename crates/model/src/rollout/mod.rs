//! Rollouts: a candidate takes over from a base in steps, judged on what its callers got.
//!
//! Everything here is pure. The catalog stores a [`Rollout`] and what [`Rollout::apply`] returns, in
//! one transaction; nodes record [`judge::Tick`]s; one node folds them into a verdict.

mod apply;
mod event;
pub mod judge;
pub mod plan;
mod state;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use apply::{Applied, Stale};
pub use event::{AbortReason, Event, Record, Shift};
pub use plan::{Plan, PlanError};
pub use state::{HoldReason, PauseReason, State};

use crate::clock::Timestamp;
use crate::name::{AliasName, UnitName};
use crate::split::{Target, Weight};

/// What a rollout moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schema(as = RolloutScope)]
pub enum Scope {
    /// Live of the app.
    App,
    Alias {
        function: UnitName,
        alias: AliasName,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    pub scope: Scope,
    pub base: Target,
    pub candidate: Target,
    /// Copied at the start: later edits of a manifest do not touch it.
    pub plan: Plan,
    pub state: State,
    /// The index of the step in the plan; that of the first until it runs.
    pub step: usize,
    /// The candidate's weight.
    pub weight: Weight,
    /// When the present step began.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub deadline: Timestamp,
    /// The judge passed the present step.
    pub evaluated: bool,
}

/// A rollout as it is stored and listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutView {
    pub id: String,
    #[serde(flatten)]
    pub rollout: Rollout,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

impl Rollout {
    /// A rollout that has not begun. The plan must have been checked.
    pub fn new(scope: Scope, base: Target, candidate: Target, plan: Plan, now: Timestamp) -> Self {
        let deadline = plan.deadline.after(now);
        Self {
            scope,
            base,
            candidate,
            plan,
            state: State::Pending,
            step: 0,
            weight: Weight::NONE,
            since: now,
            deadline,
            evaluated: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// Whether a target must stay reachable for it.
    pub fn protects(&self, target: &Target) -> bool {
        self.is_open() && (self.base == *target || self.candidate == *target)
    }

    /// Whether the judge passed the last step.
    pub fn is_evaluated(&self) -> bool {
        self.evaluated && self.plan.is_last(self.step)
    }

    /// The event that time alone brings.
    pub fn due(&self, now: Timestamp) -> Option<Event> {
        let waits = self.is_open() && !matches!(self.state, State::Paused { .. });
        (waits && now >= self.deadline).then_some(Event::Deadline)
    }
}

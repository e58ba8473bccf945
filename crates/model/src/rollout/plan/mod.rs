//! The plan of a rollout: what a manifest's `rollout:` says. It is copied when a rollout starts.

mod check;
mod span;
mod step;
mod sticky;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use check::PlanError;
pub use span::{Span, SpanError};
pub use step::Step;
pub use sticky::{Sticky, StickyError};

/// How a candidate takes over. `default` is what a manifest that says nothing means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = RolloutPlan)]
pub struct Plan {
    /// The candidate's weights before promotion.
    pub steps: Vec<Step>,
    /// Minimum time on each step that does not give its own.
    #[serde(rename = "for")]
    pub time: Span,
    /// Candidate requests that a step needs before it can pass.
    pub min: u64,
    /// Distinct clients that a step needs in each arm.
    pub clients: u32,
    pub quiet: Quiet,
    /// After this the rollout is paused.
    pub deadline: Span,
    pub sticky: Sticky,
    /// Who may choose an arm.
    #[serde(rename = "override")]
    pub chooser: Override,
    pub judge: Judgement,
}

/// What a step without any traffic does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    #[default]
    Hold,
    Promote,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Override {
    Public,
    #[default]
    Token,
    Off,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Judgement {
    pub errors: OnWorse,
    pub slow: OnWorse,
    /// The probability that a candidate as good as the base is aborted.
    pub alpha: f64,
    /// A candidate may be slower by this factor.
    pub slowdown: f64,
    /// A request is not slow while it is less than this above the base's p95.
    pub floor: Span,
    /// The smallest difference in the share of failing clients that matters, written `1%`.
    #[serde(with = "percent")]
    #[schema(value_type = String)]
    pub harm: f64,
}

/// What happens when a candidate is found worse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnWorse {
    #[default]
    Abort,
    /// The step does not pass.
    Hold,
    Ignore,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            steps: [500, 2500, 5000].into_iter().filter_map(Step::of).collect(),
            time: Span::from_millis(5 * 60_000),
            min: 150,
            clients: 10,
            quiet: Quiet::default(),
            deadline: Span::from_millis(24 * 3_600_000),
            sticky: Sticky::default(),
            chooser: Override::default(),
            judge: Judgement::default(),
        }
    }
}

impl Default for Judgement {
    fn default() -> Self {
        Self {
            errors: OnWorse::default(),
            slow: OnWorse::default(),
            alpha: 0.01,
            slowdown: 1.25,
            floor: Span::from_millis(20),
            harm: 0.01,
        }
    }
}

impl Plan {
    /// The minimum time of a step.
    pub fn time_of(&self, step: usize) -> Span {
        self.steps.get(step).and_then(|step| step.time).unwrap_or(self.time)
    }

    pub fn is_last(&self, step: usize) -> bool {
        step + 1 >= self.steps.len()
    }
}

/// A share as `1%` or `0.5%`. A bare number is percent too.
mod percent {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::split::Weight;

    pub fn serialize<S: Serializer>(share: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{}%", share * 100.0))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Weight::deserialize(from)?.share())
    }
}

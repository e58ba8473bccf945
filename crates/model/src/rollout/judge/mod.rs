//! The judge: compares the failures and the speed of two arms, tick by tick.
//!
//! It is a fold over the recorded ticks and nothing else, so any node that reads the same ticks
//! comes to the same verdict (`docs/decisions/019-the-judge.md`).

mod comparison;
mod evidence;
mod histogram;
mod stored;
mod tick;
mod verdict;

pub use histogram::Histogram;
pub use stored::{NotATick, StoredTick};
pub use tick::{Baseline, Observation, Outcome, SlowLimits, Tick, Traffic};
pub use verdict::{Forecast, Numbers, Reason, Test, TestNumbers, Verdict};

use comparison::{Comparison, Seen, Strike};

use super::plan::{OnWorse, Plan, Sticky};
use crate::clock::Timestamp;
use crate::split::{BucketSet, Weight};

/// The index of the arms in pairs.
pub const BASE: usize = 0;
pub const CANDIDATE: usize = 1;

/// Evidence below this does not stand in the way of the next step.
const CLEAR: f64 = 5.0;
/// A candidate is slow when as many of its units are above the limit as would be if its p95 were
/// the limit.
const SLOW_SHARE: f64 = 0.05;

/// What is known of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    errors: Comparison,
    slow: Comparison,
    baseline: Baseline,
    step: Step,
}

/// Counts since the step began.
#[derive(Debug, Clone, Default, PartialEq)]
struct Step {
    requests: [u64; 2],
    /// Units that were answered without a failure.
    answered: [BucketSet; 2],
    traffic: [Traffic; 2],
}

/// A tick of all nodes that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedTick {
    pub ended: Timestamp,
    /// The candidate's weight while it lasted, and its buckets.
    pub weight: Weight,
    pub candidates: BucketSet,
    pub tick: Tick,
}

impl Default for Judge {
    fn default() -> Self {
        Self {
            errors: Comparison::new(Strike::Failure),
            slow: Comparison::new(Strike::Slowness),
            baseline: Baseline::default(),
            step: Step::default(),
        }
    }
}

impl Judge {
    /// Forgets what a step needs before it can pass. The evidence stays.
    pub fn begin_step(&mut self) {
        self.step = Step::default();
    }

    pub fn add(&mut self, closed: &ClosedTick, sticky: &Sticky) {
        let ClosedTick { ended, weight, candidates, tick } = closed;
        let by_arm = |count: fn(&Traffic) -> (u64, u64)| [BASE, CANDIDATE].map(|arm| count(&tick.arms[arm]));
        let errors =
            Seen { tried: &tick.seen, struck: &tick.failed, requests: by_arm(|arm| (arm.requests, arm.failed)) };
        let slow = Seen { tried: &tick.timed, struck: &tick.slow, requests: by_arm(|arm| (arm.timed, arm.slow)) };
        for (comparison, seen) in [(&mut self.errors, errors), (&mut self.slow, slow)] {
            match sticky {
                Sticky::None => comparison.add_requests(&seen, candidates, *weight),
                _ => comparison.add_callers(&seen, candidates, *ended),
            }
        }
        let answered = tick.seen.without(&tick.failed);
        self.step.answered[CANDIDATE].add(&answered.and(candidates));
        self.step.answered[BASE].add(&answered.without(candidates));
        for (arm, traffic) in tick.arms.iter().enumerate() {
            self.step.requests[arm] = self.step.requests[arm].saturating_add(traffic.requests);
            self.step.traffic[arm].merge(traffic);
        }
        self.baseline.add(tick);
    }

    /// What a node needs to find slow requests.
    pub fn slow_limits(&self, plan: &Plan) -> SlowLimits {
        self.baseline.limits(plan.judge.slowdown, plan.judge.floor.as_micros())
    }

    pub fn numbers(&self, plan: &Plan) -> Numbers {
        let each_request = plan.sticky == Sticky::None;
        let test = |comparison: &Comparison| {
            let [base, candidate] = comparison.units(each_request);
            TestNumbers {
                evidence: comparison.evidence(),
                limit: comparison.limit(plan.judge.alpha),
                round: comparison.round(),
                tried: [base.0, candidate.0],
                struck: [base.1, candidate.1],
            }
        };
        Numbers {
            requests: self.step.requests,
            failed: [BASE, CANDIDATE].map(|arm| self.step.traffic[arm].failed),
            refused: [BASE, CANDIDATE].map(|arm| self.step.traffic[arm].refused),
            cold: [BASE, CANDIDATE].map(|arm| self.step.traffic[arm].cold),
            answered: [BASE, CANDIDATE].map(|arm| self.step.answered[arm].len()),
            p50: [BASE, CANDIDATE].map(|arm| self.step.traffic[arm].latency.quantile(0.5)),
            p95: [BASE, CANDIDATE].map(|arm| self.step.traffic[arm].latency.quantile(0.95)),
            errors: test(&self.errors),
            slow: test(&self.slow),
        }
    }

    /// Judges the candidate on a step that began at `since`.
    pub fn verdict(&self, plan: &Plan, step: usize, since: Timestamp, now: Timestamp) -> Verdict {
        let numbers = self.numbers(plan);
        let judged = [
            (Test::Errors, plan.judge.errors, &self.errors, numbers.errors.clone()),
            (Test::Slow, plan.judge.slow, &self.slow, numbers.slow.clone()),
        ];
        let mut unclear = None;
        for (test, on_worse, comparison, found) in judged {
            // A difference that does not matter stands in the way of nothing, however sure it is.
            let matters = on_worse != OnWorse::Ignore && harmful(test, &found, plan.judge.harm);
            if !matters || found.evidence < CLEAR {
                continue;
            }
            if on_worse == OnWorse::Abort && found.evidence >= found.limit && comparison.enough_struck() {
                return Verdict::Worse { test, numbers: Box::new(numbers) };
            }
            unclear.get_or_insert(test);
        }
        verdict::passes(plan, step, since, now, numbers, unclear)
    }
}

fn harmful(test: Test, found: &TestNumbers, harm: f64) -> bool {
    let [base, candidate] = [BASE, CANDIDATE].map(|arm| found.struck[arm] as f64 / (found.tried[arm].max(1)) as f64);
    let enough = test == Test::Errors || candidate >= SLOW_SHARE;
    enough && candidate - base >= harm
}

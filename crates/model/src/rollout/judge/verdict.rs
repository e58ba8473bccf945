use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BASE, CANDIDATE};
use crate::clock::Timestamp;
use crate::rollout::plan::{Plan, Quiet};

/// What the ticks say about a candidate. The numbers are base first, and those of the present step
/// unless they belong to a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "verdict", rename_all = "lowercase")]
#[schema(as = JudgeVerdict)]
pub enum Verdict {
    Worse { test: Test, numbers: Box<Numbers> },
    Pass { numbers: Box<Numbers> },
    Hold { reason: Reason, forecast: Forecast, numbers: Box<Numbers> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = JudgeTest)]
pub enum Test {
    Errors,
    Slow,
}

/// Why a step does not pass yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = HoldingReason)]
pub enum Reason {
    /// The step's minimum time is not over.
    Time,
    /// There was no request at all.
    Quiet,
    /// The candidate had too few requests, or an arm too few clients that were answered.
    NoData,
    /// The evidence against the candidate is neither weak nor strong.
    Unclear,
}

/// When the step can pass at the earliest if traffic goes on as it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JudgeForecast)]
pub struct Forecast {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub earliest: Option<Timestamp>,
    /// Candidate requests that are still missing.
    pub requests: u64,
    /// Clients that are still missing, base first.
    pub clients: [u32; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JudgeNumbers)]
pub struct Numbers {
    pub requests: [u64; 2],
    pub failed: [u64; 2],
    pub refused: [u64; 2],
    pub cold: [u64; 2],
    /// Units that were answered without a failure.
    pub answered: [u32; 2],
    /// Of warm requests, in microseconds.
    pub p50: [Option<f64>; 2],
    pub p95: [Option<f64>; 2],
    pub errors: TestNumbers,
    pub slow: TestNumbers,
}

/// The numbers of a test in its present round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestNumbers {
    pub evidence: f64,
    /// The candidate is worse when the evidence reaches this.
    pub limit: f64,
    pub round: u32,
    /// Units that could be struck, and that were.
    pub tried: [u64; 2],
    pub struck: [u64; 2],
}

impl Verdict {
    pub fn numbers(&self) -> &Numbers {
        match self {
            Self::Worse { numbers, .. } | Self::Pass { numbers } | Self::Hold { numbers, .. } => numbers,
        }
    }
}

/// Pass or hold, for a candidate that is not worse.
pub(super) fn passes(
    plan: &Plan,
    step: usize,
    since: Timestamp,
    now: Timestamp,
    numbers: Numbers,
    unclear: Option<Test>,
) -> Verdict {
    let over = plan.time_of(step).after(since);
    let missing = Forecast {
        earliest: None,
        requests: plan.min.saturating_sub(numbers.requests[CANDIDATE]),
        clients: numbers.answered.map(|answered| plan.clients.saturating_sub(answered)),
    };
    let enough = missing.requests == 0 && missing.clients == [0, 0];
    let quiet = numbers.requests == [0, 0];
    let reason = if now < over {
        Reason::Time
    } else if quiet && plan.quiet == Quiet::Promote && unclear.is_none() {
        return Verdict::Pass { numbers: Box::new(numbers) };
    } else if quiet {
        Reason::Quiet
    } else if !enough {
        Reason::NoData
    } else if unclear.is_some() {
        Reason::Unclear
    } else {
        return Verdict::Pass { numbers: Box::new(numbers) };
    };
    let earliest = earliest(&missing, &numbers, [since, now, over]).filter(|_| unclear.is_none());
    Verdict::Hold { reason, forecast: Forecast { earliest, ..missing }, numbers: Box::new(numbers) }
}

/// Extends the pace of the step so far. None without a pace.
fn earliest(missing: &Forecast, numbers: &Numbers, [since, now, over]: [Timestamp; 3]) -> Option<Timestamp> {
    let lasted = (now.as_millisecond() - since.as_millisecond()) as f64;
    let left = |missing: f64, had: f64| match missing {
        0.0 => Some(0.0),
        _ => (had > 0.0).then(|| missing / had * lasted),
    };
    let mut wait = left(missing.requests as f64, numbers.requests[CANDIDATE] as f64)?;
    for arm in [BASE, CANDIDATE] {
        wait = wait.max(left(f64::from(missing.clients[arm]), f64::from(numbers.answered[arm]))?);
    }
    let at = now.as_millisecond().saturating_add(wait as i64);
    Some(crate::clock::from_millis(at).max(over))
}

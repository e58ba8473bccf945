use super::{Plan, Span};
use crate::refusal::{Code, Refusal};
use crate::split::Weight;

const MAX_STEPS: usize = 50;
const MAX_MIN: u64 = 1_000_000_000;
const MAX_CLIENTS: u32 = 5000;
const MAX_ALPHA: f64 = 0.2;
const SLOWDOWNS: (f64, f64) = (1.01, 100.0);
const MAX_HARM: f64 = 0.5;
/// Ticks of the judge are not shorter, so a shorter step would pass unseen.
const MIN_TIME: Span = Span::from_millis(1000);

/// Why a plan cannot be carried out. Steps are numbered from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("a rollout has 1 to {MAX_STEPS} steps, not {0}")]
    Steps(usize),
    #[error("step {step} has a weight of {weight} %, which is not between 0 and 100")]
    Weight { step: usize, weight: Weight },
    #[error("step {step} falls from {before} % to {weight} %")]
    Falls { step: usize, before: Weight, weight: Weight },
    #[error("step {step} lasts {time}, which is shorter than {MIN_TIME}")]
    Short { step: usize, time: Span },
    #[error("the steps last at least {steps}, which does not fit in the deadline of {deadline}")]
    Deadline { steps: Span, deadline: Span },
    #[error("step {step} with {weight} % never has the {clients} clients that it needs")]
    Clients { step: usize, weight: Weight, clients: u32 },
    #[error("`{key}` is {value}, which is not from {from} to {to}")]
    Range { key: &'static str, value: String, from: String, to: String },
}

impl Plan {
    /// Checks what no single value shows.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            return Err(PlanError::Steps(self.steps.len()));
        }
        range("min", self.min, 0, MAX_MIN)?;
        range("clients", self.clients, 1, MAX_CLIENTS)?;
        self.judge.check()?;
        let mut before = Weight::NONE;
        let mut sum = 0;
        for (index, weight) in self.steps.iter().map(|step| step.weight).enumerate() {
            let step = index + 1;
            if weight == Weight::NONE || weight == Weight::ALL {
                return Err(PlanError::Weight { step, weight });
            }
            if weight <= before {
                return Err(PlanError::Falls { step, before, weight });
            }
            let smaller = weight.min(weight.rest()).hundredths();
            if u32::from(smaller) < self.clients {
                return Err(PlanError::Clients { step, weight, clients: self.clients });
            }
            let time = self.time_of(index);
            if time < MIN_TIME {
                return Err(PlanError::Short { step, time });
            }
            sum += time.as_millis();
            before = weight;
        }
        let steps = Span::from_millis(sum);
        if steps > self.deadline {
            return Err(PlanError::Deadline { steps, deadline: self.deadline });
        }
        Ok(())
    }
}

impl super::Judgement {
    fn check(&self) -> Result<(), PlanError> {
        if !(self.alpha > 0.0 && self.alpha <= MAX_ALPHA) {
            return Err(out_of_range("alpha", self.alpha, "above 0", MAX_ALPHA));
        }
        range("slowdown", self.slowdown, SLOWDOWNS.0, SLOWDOWNS.1)?;
        if !(0.0..=MAX_HARM).contains(&self.harm) {
            return Err(out_of_range("harm", format!("{}%", self.harm * 100.0), "0%", "50%"));
        }
        range("floor", self.floor, Span::from_millis(0), Span::from_millis(60_000))
    }
}

fn range<T: PartialOrd + ToString>(key: &'static str, value: T, from: T, to: T) -> Result<(), PlanError> {
    // Not `value < from || value > to`, which NaN passes.
    if value >= from && value <= to { Ok(()) } else { Err(out_of_range(key, value, from, to)) }
}

fn out_of_range(key: &'static str, value: impl ToString, from: impl ToString, to: impl ToString) -> PlanError {
    PlanError::Range { key, value: value.to_string(), from: from.to_string(), to: to.to_string() }
}

impl From<PlanError> for Refusal {
    fn from(error: PlanError) -> Self {
        let refusal = Self::new(Code::InvalidRequest, error.to_string());
        match error {
            PlanError::Weight { weight: Weight::ALL, .. } => {
                refusal.correct("leave 100 out: the candidate is promoted after its last step")
            }
            PlanError::Falls { .. } => refusal.correct("give weights that rise"),
            PlanError::Deadline { .. } => refusal.correct("give a later deadline or shorter steps"),
            PlanError::Clients { .. } => refusal.correct("give a greater weight or fewer clients"),
            _ => refusal,
        }
    }
}

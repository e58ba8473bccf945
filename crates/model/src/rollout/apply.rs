//! The transition function: every state with every event.

use super::event::{AbortReason, Event, Record, Shift, Standing};
use super::judge::Verdict;
use super::state::{PauseReason, State};
use super::{HoldReason, Rollout};
use crate::clock::Timestamp;
use crate::refusal::{Code, Refusal};
use crate::split::Weight;

/// What an event did. Nothing changed if there is no record.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    pub rollout: Rollout,
    pub shift: Option<Shift>,
    pub record: Option<Record>,
}

/// Why an event does not fit the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    #[error("the rollout has ended")]
    Ended,
    /// Not a command: another node was faster.
    #[error("the rollout has moved on")]
    MovedOn,
    #[error("the rollout is paused already")]
    Paused,
    #[error("the rollout is not paused")]
    NotPaused,
    #[error("the rollout is paused")]
    ResumeFirst,
    #[error("the rollout does not wait for an approval")]
    NotWaiting,
    #[error("the judge has not passed the last step")]
    NotEvaluated,
}

impl Rollout {
    /// Applies an event. An event that does not fit leaves everything as it is.
    pub fn apply(&self, event: &Event, now: Timestamp) -> Result<Applied, Stale> {
        use State::{Aborted, Checking, Holding, Paused, Pending, Promoted, Running, Superseded, Waiting};
        let next = match (&self.state, event) {
            (Promoted { .. } | Aborted { .. } | Superseded, _) => return Err(Stale::Ended),

            // Legal in every open state.
            (_, Event::Abort { reason }) => self.aborted(*reason),
            (_, Event::CannotStart) => match self.state {
                Pending | Checking | Paused { .. } if self.weight == Weight::NONE => {
                    self.aborted(AbortReason::CannotStart)
                }
                _ => return Err(Stale::MovedOn),
            },
            (_, Event::Supersede) => Next { state: Superseded, shift: Some(Shift::AllBase), ..self.stays() },
            (_, Event::Promote { force }) if *force || self.is_evaluated() => self.promoted(*force),
            (_, Event::Promote { .. }) => return Err(Stale::NotEvaluated),

            (Paused { .. }, Event::Pause) => return Err(Stale::Paused),
            (Paused { .. }, Event::Approve) => return Err(Stale::ResumeFirst),
            (Paused { .. }, Event::Begin | Event::Ready | Event::Deadline) => return Err(Stale::MovedOn),
            (Paused { resumes, .. }, Event::Resume) => {
                let deadline = self.plan.deadline.after(now).max(self.deadline);
                Next { state: (*resumes).into(), deadline, ..self.stays() }
            }
            (_, Event::Resume) => return Err(Stale::NotPaused),
            (state, Event::Pause) => self.paused(state, PauseReason::User)?,
            (state, Event::Deadline) if now >= self.deadline => self.paused(state, PauseReason::Deadline)?,
            (_, Event::Deadline) => return Err(Stale::MovedOn),

            (Pending, Event::Begin) => Next { state: Checking, ..self.stays() },
            (_, Event::Begin) => return Err(Stale::MovedOn),
            (Checking, Event::Ready) => self.on_step(0, now),
            (_, Event::Ready) => return Err(Stale::MovedOn),

            (Waiting, Event::Approve) => self.after_step(now),
            (_, Event::Approve) => return Err(Stale::NotWaiting),

            (Pending | Checking, Event::Judged { .. }) => return Err(Stale::MovedOn),
            (_, Event::Judged { step, .. }) if *step != self.step || self.weight == Weight::NONE => {
                return Err(Stale::MovedOn);
            }
            (_, Event::Judged { verdict: Verdict::Worse { .. }, .. }) => self.aborted(AbortReason::Judge),
            (Running | Holding { .. }, Event::Judged { verdict: Verdict::Pass { .. }, .. }) => self.passed(now),
            (Running | Holding { .. }, Event::Judged { verdict: Verdict::Hold { reason, .. }, .. }) => {
                let held: Option<HoldReason> = (*reason).into();
                Next { state: held.map_or(Running, |reason| Holding { reason }), ..self.stays() }
            }
            // A pause keeps what the judge found: after the last step it can be promoted by hand.
            (Paused { .. }, Event::Judged { verdict: Verdict::Pass { .. }, .. }) => {
                Next { evaluated: true, ..self.stays() }
            }
            (Waiting | Paused { .. }, Event::Judged { .. }) => self.stays(),
        };
        Ok(self.with(next, event))
    }

    fn stays(&self) -> Next {
        Next {
            state: self.state.clone(),
            step: self.step,
            since: self.since,
            deadline: self.deadline,
            evaluated: self.evaluated,
            shift: None,
        }
    }

    fn aborted(&self, reason: AbortReason) -> Next {
        Next { state: State::Aborted { reason }, shift: Some(Shift::AllBase), ..self.stays() }
    }

    fn promoted(&self, forced: bool) -> Next {
        let forced = forced && !self.is_evaluated();
        Next { state: State::Promoted { forced }, shift: Some(Shift::AllCandidate), ..self.stays() }
    }

    fn paused(&self, state: &State, reason: PauseReason) -> Result<Next, Stale> {
        let resumes = state.pauses().ok_or(Stale::Paused)?;
        Ok(Next { state: State::Paused { reason, resumes }, ..self.stays() })
    }

    fn on_step(&self, step: usize, now: Timestamp) -> Next {
        let weight = self.plan.steps.get(step).map_or(self.weight, |step| step.weight);
        let shift = Some(Shift::Weigh(weight));
        Next { state: State::Running, step, since: now, evaluated: false, shift, ..self.stays() }
    }

    fn passed(&self, now: Timestamp) -> Next {
        let approve = self.plan.steps.get(self.step).is_some_and(|step| step.approve);
        let next = if approve { Next { state: State::Waiting, ..self.stays() } } else { self.after_step(now) };
        Next { evaluated: approve || next.evaluated, ..next }
    }

    /// The step has passed, and was approved if it had to be.
    fn after_step(&self, now: Timestamp) -> Next {
        if self.plan.is_last(self.step) {
            let state = State::Promoted { forced: false };
            return Next { state, evaluated: true, shift: Some(Shift::AllCandidate), ..self.stays() };
        }
        self.on_step(self.step + 1, now)
    }

    fn with(&self, next: Next, event: &Event) -> Applied {
        let weight = match next.shift {
            None => self.weight,
            Some(Shift::Weigh(weight)) => weight,
            Some(Shift::AllBase) => Weight::NONE,
            Some(Shift::AllCandidate) => Weight::ALL,
        };
        let rollout = Self {
            state: next.state,
            step: next.step,
            weight,
            since: next.since,
            deadline: next.deadline,
            evaluated: next.evaluated,
            ..self.clone()
        };
        let verdict = match event {
            Event::Judged { verdict, .. } => Some(verdict.clone()),
            _ => None,
        };
        let record = (rollout != *self).then(|| Record { from: self.standing(), to: rollout.standing(), verdict });
        Applied { rollout, shift: next.shift, record }
    }

    fn standing(&self) -> Standing {
        Standing { state: self.state.clone(), step: self.step, weight: self.weight }
    }
}

/// What a transition sets.
struct Next {
    state: State,
    step: usize,
    since: Timestamp,
    deadline: Timestamp,
    evaluated: bool,
    shift: Option<Shift>,
}

impl From<Stale> for Refusal {
    fn from(stale: Stale) -> Self {
        let refusal = Self::new(Code::InUse, stale.to_string());
        match stale {
            Stale::Ended | Stale::MovedOn | Stale::Paused | Stale::NotPaused | Stale::NotWaiting => refusal,
            Stale::ResumeFirst => refusal.correct("resume the rollout first"),
            Stale::NotEvaluated => refusal.correct("wait for the verdict, or force the promotion"),
        }
    }
}

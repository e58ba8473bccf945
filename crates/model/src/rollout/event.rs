use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::State;
use super::judge::Verdict;
use crate::split::Weight;

/// What can happen to a rollout.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A node begins to load the candidate.
    Begin,
    /// The candidate is loaded and warm.
    Ready,
    /// The candidate could not be loaded.
    CannotStart,
    /// The judge closed a tick of a step, or found that time has passed.
    Judged {
        step: usize,
        verdict: Verdict,
    },
    Deadline,
    Pause,
    Resume,
    Approve,
    Promote {
        force: bool,
    },
    Abort {
        reason: AbortReason,
    },
    Supersede,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbortReason {
    Judge,
    User,
    Rollback,
    CannotStart,
}

/// What a transition does to the pointer. Each is one move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// The candidate gets this weight.
    Weigh(Weight),
    AllBase,
    AllCandidate,
}

/// A transition as the event log keeps it, with the numbers that it was decided on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub from: Standing,
    pub to: Standing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    #[serde(flatten)]
    pub state: State,
    pub step: usize,
    pub weight: Weight,
}

impl Event {
    /// Whether a person asked for it: refused where it does not fit, not dropped.
    pub fn is_command(&self) -> bool {
        match self {
            Self::Begin | Self::Ready | Self::CannotStart | Self::Judged { .. } | Self::Deadline => false,
            Self::Pause
            | Self::Resume
            | Self::Approve
            | Self::Promote { .. }
            | Self::Abort { .. }
            | Self::Supersede => true,
        }
    }
}

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::event::AbortReason;
use super::judge::Reason;

/// The state of a rollout. The last three are ends and never reopen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schema(as = RolloutState)]
pub enum State {
    /// Nothing was done yet.
    Pending,
    /// The candidate is loaded and warmed up, without traffic.
    Checking,
    Running,
    /// The step's time is over, and it cannot pass yet.
    Holding {
        reason: HoldReason,
    },
    /// The step has passed and waits for an approval.
    Waiting,
    /// Traffic stays as it is. The judge still aborts.
    Paused {
        reason: PauseReason,
        resumes: Resumes,
    },
    Promoted {
        forced: bool,
    },
    Aborted {
        reason: AbortReason,
    },
    /// A newer candidate took its place.
    Superseded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HoldReason {
    Quiet,
    Unclear,
    NoData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseReason {
    User,
    Deadline,
}

/// Where a paused rollout goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resumes {
    Pending,
    Checking,
    Running,
    Waiting,
}

impl State {
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Promoted { .. } | Self::Aborted { .. } | Self::Superseded)
    }

    /// Where a pause would go on; None if it cannot be paused.
    pub(super) fn pauses(&self) -> Option<Resumes> {
        match self {
            Self::Pending => Some(Resumes::Pending),
            Self::Checking => Some(Resumes::Checking),
            Self::Running | Self::Holding { .. } => Some(Resumes::Running),
            Self::Waiting => Some(Resumes::Waiting),
            Self::Paused { .. } | Self::Promoted { .. } | Self::Aborted { .. } | Self::Superseded => None,
        }
    }

    /// One word, for lists and the database.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Checking => "checking",
            Self::Running => "running",
            Self::Holding { .. } => "holding",
            Self::Waiting => "waiting",
            Self::Paused { .. } => "paused",
            Self::Promoted { .. } => "promoted",
            Self::Aborted { .. } => "aborted",
            Self::Superseded => "superseded",
        }
    }
}

impl From<Resumes> for State {
    fn from(resumes: Resumes) -> Self {
        match resumes {
            Resumes::Pending => Self::Pending,
            Resumes::Checking => Self::Checking,
            Resumes::Running => Self::Running,
            Resumes::Waiting => Self::Waiting,
        }
    }
}

impl From<Reason> for Option<HoldReason> {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Time => None,
            Reason::Quiet => Some(HoldReason::Quiet),
            Reason::Unclear => Some(HoldReason::Unclear),
            Reason::NoData => Some(HoldReason::NoData),
        }
    }
}

//! Plans: what an app may use. Plans are not versioned; the current limits apply.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanName {
    Free,
    #[default]
    Standard,
    Unlimited,
}

/// The limits of a plan. `None` means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub plan: PlanName,
    pub active_releases: Option<u32>,
    pub functions: Option<u32>,
    /// Bytes of memory that one function may request.
    pub memory: Option<u64>,
    /// Instances that one function may scale to.
    pub instances: Option<u32>,
    /// Total bytes of files in all versions of the app, with equal files counted once.
    pub stored_bytes: Option<u64>,
    /// Executions of the app that run at the same time; further ones wait.
    pub executions_at_once: u32,
    /// Queued executions of the app; further ones are refused.
    pub executions_queued: u32,
    /// How many ended executions are kept, newest first.
    pub executions_kept: Option<u32>,
    /// How many days executions and jobs are kept after their end.
    pub execution_days: u32,
}

impl PlanName {
    pub const ALL: [Self; 3] = [Self::Free, Self::Standard, Self::Unlimited];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Standard => "standard",
            Self::Unlimited => "unlimited",
        }
    }

    pub fn limits(self) -> Limits {
        let unlimited = Limits {
            plan: self,
            active_releases: None,
            functions: None,
            memory: None,
            instances: None,
            stored_bytes: None,
            executions_at_once: 256,
            executions_queued: 1_000_000,
            executions_kept: None,
            execution_days: 90,
        };
        match self {
            Self::Free => Limits {
                active_releases: Some(3),
                functions: Some(50),
                memory: Some(512 << 20),
                instances: Some(8),
                stored_bytes: Some(1 << 30),
                executions_at_once: 4,
                executions_queued: 1000,
                executions_kept: Some(1000),
                execution_days: 1,
                ..unlimited
            },
            Self::Standard => Limits {
                active_releases: Some(10),
                functions: Some(1000),
                memory: Some(8 << 30),
                instances: Some(64),
                stored_bytes: Some(100 << 30),
                executions_at_once: 32,
                executions_queued: 100_000,
                executions_kept: Some(100_000),
                execution_days: 14,
                ..unlimited
            },
            Self::Unlimited => unlimited,
        }
    }
}

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no plan called `{0}`; the plans are free, standard and unlimited")]
pub struct UnknownPlan(String);

impl FromStr for PlanName {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Self, UnknownPlan> {
        Self::ALL.into_iter().find(|plan| plan.as_str() == text).ok_or_else(|| UnknownPlan(text.to_owned()))
    }
}

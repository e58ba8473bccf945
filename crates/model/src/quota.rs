//! Plans: what an app may use. Plans are not versioned; limits are those of today.

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

/// `None` means no bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub plan: PlanName,
    pub active_releases: Option<u32>,
    pub functions: Option<u32>,
    /// Bytes one function may ask for.
    pub memory: Option<u64>,
    /// Instances one function may scale to.
    pub instances: Option<u32>,
    /// Bytes of files that all versions of the app hold together, equal files counted once.
    pub stored_bytes: Option<u64>,
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
        let bounded = |active_releases, functions, memory, instances, stored_bytes| Limits {
            plan: self,
            active_releases: Some(active_releases),
            functions: Some(functions),
            memory: Some(memory),
            instances: Some(instances),
            stored_bytes: Some(stored_bytes),
        };
        match self {
            Self::Free => bounded(3, 50, 512 << 20, 8, 1 << 30),
            Self::Standard => bounded(10, 1000, 8 << 30, 64, 100 << 30),
            Self::Unlimited => Limits {
                plan: self,
                active_releases: None,
                functions: None,
                memory: None,
                instances: None,
                stored_bytes: None,
            },
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

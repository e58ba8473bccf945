use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::tick::{Tick, Traffic};
use crate::split::BucketSet;

/// A tick as the database keeps it: four sets of buckets, and the counts as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTick {
    pub seen: Vec<u8>,
    pub failed: Vec<u8>,
    pub timed: Vec<u8>,
    pub slow: Vec<u8>,
    pub counts: String,
}

/// Stored data that is not a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a stored tick")]
pub struct NotATick;

#[derive(Serialize, Deserialize)]
struct Counts {
    arms: [Traffic; 2],
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    routes: BTreeMap<String, Histogram>,
}

impl From<&Tick> for StoredTick {
    fn from(tick: &Tick) -> Self {
        let counts = Counts { arms: tick.arms.clone(), routes: tick.routes.clone() };
        Self {
            seen: tick.seen.to_bytes(),
            failed: tick.failed.to_bytes(),
            timed: tick.timed.to_bytes(),
            slow: tick.slow.to_bytes(),
            counts: serde_json::json!(counts).to_string(),
        }
    }
}

impl TryFrom<&StoredTick> for Tick {
    type Error = NotATick;

    fn try_from(stored: &StoredTick) -> Result<Self, NotATick> {
        let set = |bytes: &[u8]| BucketSet::from_bytes(bytes).map_err(|_| NotATick);
        let Counts { arms, routes } = serde_json::from_str(&stored.counts).map_err(|_| NotATick)?;
        Ok(Self {
            seen: set(&stored.seen)?,
            failed: set(&stored.failed)?,
            timed: set(&stored.timed)?,
            slow: set(&stored.slow)?,
            arms,
            routes,
        })
    }
}

//! The active timers: those of the live release.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;
use crate::selector::Selector;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTimers {
    /// The live release, if any.
    pub release: Option<String>,
    pub items: Vec<LiveTimer>,
}

/// A timer as it is in the live release, which may differ from the app's current version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTimer {
    pub name: UnitName,
    /// The version number of the timer in the live release.
    pub number: i64,
    pub cron: String,
    /// Empty means UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    pub function: UnitName,
    pub selector: Selector,
    /// The version number that the next firing runs. None if an alias decides at that time, or if
    /// there is no version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The time of the next firing; none if it never fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<Timestamp>,
}

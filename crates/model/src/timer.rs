//! The timers that fire: those of the live release.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::name::UnitName;
use crate::selector::Selector;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTimers {
    /// The release that is live; none when nothing is.
    pub release: Option<String>,
    pub items: Vec<LiveTimer>,
}

/// A timer as the live release has it, which may differ from what the app has now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTimer {
    pub name: UnitName,
    /// Which version of the timer the live release holds.
    pub number: i64,
    pub cron: String,
    /// Empty means UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    pub function: UnitName,
    pub selector: Selector,
    /// The number of the version that the next firing runs; none when an alias decides then, or when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// When it fires next; none when it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<Timestamp>,
}

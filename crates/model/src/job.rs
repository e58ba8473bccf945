//! Jobs: scheduled runs of a function with a fixed input, optionally limited in number.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::execution::{UnknownWord, words};
use crate::name::UnitName;
use crate::raw_json::RawJson;
use crate::selector::Selector;

/// A request for a job. It has a pattern, a first time, or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJob {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub function: UnitName,
    /// `latest` and `@alias` are resolved at each firing; any other selector is resolved now.
    #[serde(default)]
    pub version: Selector,
    /// The same syntax as for timers: five fields, six with seconds, `@every 5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// A name from the time zone database; empty means UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    /// The time of the first execution; with a pattern, the earliest time. If it falls into
    /// downtime, the execution runs after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// The total number of executions; none means no limit. Without a pattern it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
}

/// The changes to a job; fields left out stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct JobChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `running`, `paused` or `cancelled`; `done` is set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The number of remaining executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// A UUID.
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub function: UnitName,
    pub selector: Selector,
    /// The version number that the job is pinned to; none if it follows `latest` or an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// The number of remaining executions; none means no limit.
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
    pub state: JobState,
    /// None unless the job is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<Timestamp>,
    /// The number of executions so far.
    pub fired: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// None if it was never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

words! {
    JobState, "a state of jobs":
    Running => "running",
    Paused => "paused",
    Cancelled => "cancelled",
    /// All executions were made.
    Done => "done",
}

impl JobState {
    /// Whether the job can still fire. A job that cannot no longer holds its version.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

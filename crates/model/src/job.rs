//! Jobs: a function that is run at times, so many times, with an input.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::execution::{UnknownWord, words};
use crate::name::UnitName;
use crate::raw_json::RawJson;
use crate::selector::Selector;

/// Asks for a job. It has a pattern, a first time, or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJob {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub function: UnitName,
    /// `latest` and `@alias` are resolved at each firing; everything else is the version that it names now.
    #[serde(default)]
    pub version: Selector,
    /// What timers take: five fields, six with seconds, `@every 5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// A name of the time zone database; empty means UTC.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    /// The first execution; with a pattern, the earliest one. It is made up after downtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// How many executions in all; none means without end. Without a pattern it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
}

/// What of a job is to be changed; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct JobChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `running`, `paused` or `cancelled`; `done` comes by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// How many more executions there are to be.
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
    /// The number of the version that the job is pinned to; none when it follows `latest` or an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// How many executions are still to come; none means without end.
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
    pub state: JobState,
    /// None unless the job is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_at: Option<Timestamp>,
    /// How many executions it has made.
    pub fired: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub created_by: String,
    /// None until somebody changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
}

words! {
    JobState, "a state of jobs":
    Running => "running",
    Paused => "paused",
    Cancelled => "cancelled",
    /// It has made all of its executions.
    Done => "done",
}

impl JobState {
    /// Whether it may go on. One that may not holds no version any more.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

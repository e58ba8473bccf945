//! Executions: recorded runs of one exact version of a function with one input.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::digest::Digest;
use crate::name::UnitName;
use crate::raw_json::RawJson;
use crate::selector::Selector;

/// Maximum bytes of an input as sent: the raw bytes of a text, or the JSON of any other input.
/// Inputs and results are stored in the database so that any node can show them.
pub const MAX_INPUT: usize = 1 << 20;
/// Maximum bytes of an input as JSON, where one character of a text may take six bytes.
pub const MAX_STORED_INPUT: usize = 8 << 20;
/// Maximum bytes of a result, as JSON.
pub const MAX_RESULT: usize = 1 << 20;
/// Maximum bytes of a log.
pub const MAX_LOG: usize = 256 << 10;
/// Lists leave out inputs and results above this size; reading the single execution returns them.
pub const MAX_LISTED: usize = 16 << 10;
/// Maximum nesting of lists and objects in an input or result. JSON parsers fail somewhat above
/// this.
pub const MAX_DEPTH: usize = 100;
/// An execution whose node died is retried until this many attempts that had reached an instance
/// were lost.
pub const MAX_ATTEMPTS: i64 = 3;

/// A request for an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewExecution {
    pub function: UnitName,
    /// Resolved once, when the execution is accepted.
    #[serde(default)]
    pub version: Selector,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
    /// Whether the response waits for the end. Such an execution is not retried when its server
    /// dies.
    #[serde(default)]
    pub sync: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// A version 7 UUID: ids sort by the time of acceptance.
    pub id: String,
    pub function: UnitName,
    /// The resolved version. None only if there was none; the execution then ended in `error`.
    pub version: Option<ExecutedVersion>,
    /// The version as requested.
    pub selector: Selector,
    pub status: ExecutionStatus,
    pub sync: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
    /// Headers of the webhook call, passed to the function with the input. Headers that could hold
    /// credentials are not stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What the function returned. If the execution did not succeed, a text with the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<RawJson>,
    /// What went wrong in the function, for interfaces with their own words for it.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// A large input or result was left out because this is part of a list.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shortened: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub started_by: String,
    pub cause: Cause,
    /// The scheduled time of the job or timer that this execution stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub scheduled_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When the first attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// How long the function took in the last attempt, without the wait for an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Cancellation was requested, and the node has not stopped the execution yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancelling: bool,
    pub attempts: Vec<Attempt>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The exact version that an execution runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutedVersion {
    pub number: i64,
    pub uid: String,
    pub digest: Digest,
}

/// One attempt by a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Starts at 1.
    pub number: i64,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    pub node: String,
    /// None while the attempt runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<AttemptEnd>,
}

/// What went wrong in a function, as data: a front end phrases it without reading the text of the
/// result. Stored with the execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// No response, or no more of it, within the function's time.
    TimedOut,
    /// The function reached its limit of memory or of processes, or the kernel killed it.
    Exhausted,
    /// The process ended.
    Crashed {
        /// The response had begun.
        begun: bool,
        how: String,
    },
    /// The function raised an exception.
    Threw {
        /// The message without the name of the exception.
        text: String,
    },
}

/// What started an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    pub kind: CauseKind,
    /// The id of the job or webhook, or the name of the timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The display name: the name of the job or the description of the webhook. None if it has none
    /// or was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Cause {
    pub const API: Self = Self { kind: CauseKind::Api, id: None, name: None };
    pub const V1: Self = Self { kind: CauseKind::V1, id: None, name: None };

    pub fn webhook(id: &str) -> Self {
        Self::of(CauseKind::Webhook, Some(id.to_owned()))
    }

    pub fn of(kind: CauseKind, id: Option<String>) -> Self {
        Self { kind, id, name: None }
    }
}

/// Filters a list of executions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub function: Option<UnitName>,
    /// A version number.
    pub version: Option<i64>,
    pub status: Option<ExecutionStatus>,
    pub cause: Option<CauseKind>,
    /// The id of a job or webhook, or the name of a timer, of that kind of cause.
    pub cause_id: Option<String>,
    /// Accepted at or after this time.
    pub since: Option<Timestamp>,
}

/// An enum whose variants have the same names in JSON, in the database and on the command line.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $what:literal: $($(#[$doc:meta])* $word:ident => $text:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $word,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                let found = Self::ALL.iter().copied().find(|word| word.as_str() == text);
                found.ok_or_else(|| UnknownWord::new(text, $what, Self::ALL.iter().map(|word| word.as_str())))
            }
        }
    };
}

pub(crate) use words;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}; it is one of {known}")]
pub struct UnknownWord {
    text: String,
    what: &'static str,
    known: String,
}

impl UnknownWord {
    pub(crate) fn new(text: &str, what: &'static str, known: impl Iterator<Item = &'static str>) -> Self {
        Self { text: text.to_owned(), what, known: known.collect::<Vec<_>>().join(", ") }
    }
}

words! {
    ExecutionStatus, "a status of executions":
    Queued => "queued",
    Running => "running",
    Success => "success",
    /// The function failed; not retried.
    Failed => "failed",
    /// The platform failed.
    Error => "error",
    Cancelled => "cancelled",
}

impl ExecutionStatus {
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

words! {
    AttemptEnd, "an end of an attempt":
    Success => "success",
    Failed => "failed",
    Error => "error",
    Cancelled => "cancelled",
    /// The node died during the attempt.
    Lost => "lost",
    /// The node died before an instance had the execution. It does not count towards the three
    /// attempts, only towards the ten deaths.
    Unbegun => "unbegun",
    /// The server was shutting down and gave the execution back. Does not count as an attempt.
    Stopped => "stopped",
}

impl AttemptEnd {
    /// `None` while the execution is queued or running.
    pub fn of(status: ExecutionStatus) -> Option<Self> {
        match status {
            ExecutionStatus::Queued | ExecutionStatus::Running => None,
            ExecutionStatus::Success => Some(Self::Success),
            ExecutionStatus::Failed => Some(Self::Failed),
            ExecutionStatus::Error => Some(Self::Error),
            ExecutionStatus::Cancelled => Some(Self::Cancelled),
        }
    }
}

words! {
    CauseKind, "a cause of executions":
    Api => "api",
    Job => "job",
    Timer => "timer",
    Webhook => "webhook",
    V1 => "v1",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_round_trip_through_text() {
        for status in ExecutionStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).expect("a word"), status.as_str());
            assert_eq!(AttemptEnd::of(*status).is_some(), status.is_ended());
        }
        let error = "done".parse::<ExecutionStatus>().expect_err("not a status");
        assert!(error.to_string().ends_with("one of queued, running, success, failed, error, cancelled"), "{error}");
    }

    #[test]
    fn only_the_function_is_required() {
        let new: NewExecution = serde_json::from_str(r#"{"function":"hello"}"#).expect("enough");
        assert_eq!((new.version, new.input, new.sync), (Selector::Latest, None, false));
        assert!(serde_json::from_str::<NewExecution>(r#"{"function":"hello","vers":"1"}"#).is_err());
    }
}

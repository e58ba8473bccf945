//! Executions: one run of one exact version of a function with one input, on record.

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

/// Bytes of an input as it was sent: of a text its own, of everything else those of the JSON. Inputs and results stand in the
/// database, so that any node can show them.
pub const MAX_INPUT: usize = 1 << 20;
/// Bytes of an input as JSON, which may take six for a letter of a text.
pub const MAX_STORED_INPUT: usize = 8 << 20;
/// Bytes of a result, as JSON.
pub const MAX_RESULT: usize = 1 << 20;
/// Bytes of a log.
pub const MAX_LOG: usize = 256 << 10;
/// Lists leave out inputs and results above this; asking for the one execution gives them.
pub const MAX_LISTED: usize = 16 << 10;
/// Lists and objects that stand inside each other in an input or result. Readers give up somewhere above this.
pub const MAX_DEPTH: usize = 100;
/// An execution whose node died is tried again until so many attempts, which an instance had, have died.
pub const MAX_ATTEMPTS: i64 = 3;

/// Asks for an execution.
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
    /// Whether the answer waits for the end. Such an execution is not tried again when its server dies.
    #[serde(default)]
    pub sync: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// A UUID of version 7: ids sort by when they were accepted.
    pub id: String,
    pub function: UnitName,
    /// The version that was decided on. None only when there was none: then it ended in `error`.
    pub version: Option<ExecutedVersion>,
    /// How the version was asked for.
    pub selector: Selector,
    pub status: ExecutionStatus,
    pub sync: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<RawJson>,
    /// Headers of the call of a webhook, which the function gets with the input. Those that could hold credentials are not kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What the function answered; of one that did not succeed, a text that says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<RawJson>,
    /// A list left out an input or a result that is large.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shortened: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub started_by: String,
    pub cause: Cause,
    /// The tick of the job or timer that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub scheduled_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When the first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// How long the function took in the last attempt; the wait for an instance does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Somebody asked for its end, and its node has not stopped it yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancelling: bool,
    pub attempts: Vec<Attempt>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The exact version of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutedVersion {
    pub number: i64,
    pub uid: String,
    pub digest: Digest,
}

/// One try of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// From 1.
    pub number: i64,
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    pub node: String,
    /// None while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<AttemptEnd>,
}

/// What started an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    pub kind: CauseKind,
    /// The id of the job or webhook, the name of the timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What people call it: the name that the job has, or what the webhook is about. None when it has none, or is deleted.
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

/// What a list of executions is narrowed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    pub function: Option<UnitName>,
    /// The number of a version.
    pub version: Option<i64>,
    pub status: Option<ExecutionStatus>,
    pub cause: Option<CauseKind>,
    /// Of that kind of cause, this one.
    pub cause_id: Option<String>,
    /// Accepted at this moment or later.
    pub since: Option<Timestamp>,
}

/// A list of words that are the same in JSON, in the database and on the command line.
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
    /// The function's fault; not tried again.
    Failed => "failed",
    /// Our fault.
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
    /// The node died with it.
    Lost => "lost",
    /// The node died before an instance had it. It does not count as one of three, only as one of ten.
    Unbegun => "unbegun",
    /// The server was told to stop and gave it back. It does not count.
    Stopped => "stopped",
}

impl AttemptEnd {
    /// None while an execution goes on.
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
    fn every_status_reads_back_as_it_was_written() {
        for status in ExecutionStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            assert_eq!(serde_json::to_value(status).expect("a word"), status.as_str());
            assert_eq!(AttemptEnd::of(*status).is_some(), status.is_ended());
        }
        let error = "done".parse::<ExecutionStatus>().expect_err("not a status");
        assert!(error.to_string().ends_with("one of queued, running, success, failed, error, cancelled"), "{error}");
    }

    #[test]
    fn only_the_function_must_be_given() {
        let new: NewExecution = serde_json::from_str(r#"{"function":"hello"}"#).expect("enough");
        assert_eq!((new.version, new.input, new.sync), (Selector::Latest, None, false));
        assert!(serde_json::from_str::<NewExecution>(r#"{"function":"hello","vers":"1"}"#).is_err());
    }
}

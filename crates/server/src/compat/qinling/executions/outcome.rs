//! Converts the outcome of an execution to v1.

use milepost_model::RawJson;
use milepost_model::execution::{Execution, ExecutionStatus, Failure};
use serde_json::Value;

const TIMED_OUT: &str = "Function execution timeout.";
const EXHAUSTED: &str = "Function execution failed because of too much resource consumption";

pub(super) fn status(status: ExecutionStatus) -> &'static str {
    match status {
        ExecutionStatus::Queued | ExecutionStatus::Running => "running",
        ExecutionStatus::Success => "success",
        // v1 has no status for cancelled executions.
        ExecutionStatus::Failed | ExecutionStatus::Cancelled => "failed",
        ExecutionStatus::Error => "error",
    }
}

/// JSON in a string: the output and the duration in seconds. Null until the execution has ended.
pub(super) fn result(execution: &Execution) -> Value {
    if !execution.status.is_ended() || execution.shortened {
        return Value::Null;
    }
    let result = execution.result.as_ref();
    let failed = matches!(execution.status, ExecutionStatus::Failed | ExecutionStatus::Error);
    let output = match (execution.status, &execution.failure) {
        (ExecutionStatus::Cancelled, _) => RawJson::from("The execution was cancelled.").to_string(),
        (_, Some(failure)) if failed => RawJson::from(&*phrase(failure)).to_string(),
        // Texts are shown as they are, without spaces after their colons and commas.
        _ => match result.and_then(RawJson::to_text).filter(|_| failed) {
            Some(why) => RawJson::from(&*why).to_string(),
            None => result.map_or_else(|| "null".to_owned(), RawJson::spaced),
        },
    };
    let duration = execution.duration_ms.unwrap_or(0);
    format!("{{\"output\": {output}, \"duration\": {}.{:03}}}", duration / 1000, duration % 1000).into()
}

/// Why a function failed, in the words of v1. Prefers the function's own message.
fn phrase(failure: &Failure) -> String {
    match failure {
        Failure::TimedOut => TIMED_OUT.to_owned(),
        Failure::Exhausted => EXHAUSTED.to_owned(),
        Failure::Crashed { begun, how } => {
            let when = if *begun { "in the middle of its response" } else { "before it answered" };
            format!("Function execution failed: its process ended {when} ({how}).")
        }
        Failure::Threw { text } => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_failures_to_v1_messages() {
        let crashed = |begun| phrase(&Failure::Crashed { begun, how: "exit code 3".to_owned() });
        let ended = "Function execution failed: its process ended";
        assert_eq!(crashed(false), format!("{ended} before it answered (exit code 3)."));
        assert_eq!(crashed(true), format!("{ended} in the middle of its response (exit code 3)."));
        assert_eq!(phrase(&Failure::Threw { text: "no such thing".to_owned() }), "no such thing");
        assert_eq!(phrase(&Failure::TimedOut), "Function execution timeout.");
        assert!(phrase(&Failure::Exhausted).ends_with("because of too much resource consumption"));
    }
}

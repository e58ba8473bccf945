//! Converts the outcome of an execution to v1.

use milepost_model::RawJson;
use milepost_model::execution::{Execution, ExecutionStatus};
use serde_json::Value;

const TIMED_OUT: &str = "Function execution timeout.";
const KILLED: &str = "Function execution failed because of too much resource consumption";

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
    let output = match (execution.status, result.and_then(RawJson::to_text)) {
        (ExecutionStatus::Cancelled, _) => RawJson::from("The execution was cancelled.").to_string(),
        (ExecutionStatus::Failed | ExecutionStatus::Error, Some(why)) => RawJson::from(&*told(&why)).to_string(),
        _ => result.map_or_else(|| "null".to_owned(), RawJson::spaced),
    };
    let duration = execution.duration_ms.unwrap_or(0);
    format!("{{\"output\": {output}, \"duration\": {}.{:03}}}", duration / 1000, duration % 1000).into()
}

/// Why a function failed. Prefers the function's own message.
fn told(why: &str) -> String {
    if let Some(threw) = why.strip_prefix("The function threw: ") {
        let threw = threw.strip_suffix('.').unwrap_or(threw);
        let at_a_limit = match threw.split(':').next() {
            Some("MemoryError") => true,
            // Process or thread limit reached.
            Some("OSError" | "BlockingIOError") => threw.contains("Resource temporarily unavailable"),
            _ => false,
        };
        if at_a_limit {
            return KILLED.to_owned();
        }
        // Drops the exception's name, as Python's `str(e)` does.
        let named = threw.split_once(": ").filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'))
        });
        return named.map_or(threw, |(_, text)| text).to_owned();
    }
    if why.starts_with("The function did not answer within") || why.starts_with("The function sent nothing more for") {
        return TIMED_OUT.to_owned();
    }
    if let Some(how) = why.strip_prefix("The function's process ended") {
        // The kernel kills processes that exceed their limits. A process that exited by itself had
        // another reason.
        let taken = ["SIGKILL", "signal 9", "of memory"].iter().any(|sign| how.contains(sign));
        return if taken { KILLED.to_owned() } else { format!("Function execution failed: its process ended{how}") };
    }
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_failures_to_v1_messages() {
        assert_eq!(told("The function threw: ValueError: no such thing."), "no such thing");
        assert_eq!(told("The function threw: KeyError: 'a'."), "'a'");
        assert_eq!(told("The function threw: it broke: badly."), "it broke: badly");
        assert_eq!(told("The function did not answer within 5 s."), TIMED_OUT);
        for how in ["killed by SIGKILL", "killed by signal 9", "it used more than its 32 MiB of memory"] {
            assert_eq!(told(&format!("The function's process ended before it answered ({how}).")), KILLED);
        }
        assert_eq!(told("The function threw: MemoryError."), KILLED);
        assert_eq!(told("The function threw: MemoryError: no room."), KILLED);
        assert_eq!(told("The function threw: BlockingIOError: [Errno 11] Resource temporarily unavailable."), KILLED);
        assert_eq!(told("The function threw: OSError: [Errno 11] Resource temporarily unavailable."), KILLED);
        assert_eq!(told("The function threw: OSError: [Errno 2] no such file."), "[Errno 2] no such file");
        assert_eq!(
            told("The function's process ended before it answered (exit code 3)."),
            "Function execution failed: its process ended before it answered (exit code 3)."
        );
        let other = "The result is larger than the 1 MiB that one may have.";
        assert_eq!(told(other), other);
    }
}

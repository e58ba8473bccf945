//! Text output of an execution.

use milepost_model::RawJson;
use milepost_model::execution::{AttemptEnd, Execution, ExecutionStatus};

use crate::context::Context;
use crate::failure::Result;
use crate::output::{local, printable};

pub fn one(context: &Context<'_>, execution: &Execution) -> Result<()> {
    context.ui.show(execution, |execution| vec![execution.id.clone()], text)
}

fn text(execution: &Execution) -> String {
    let version = execution.version.as_ref().map(|version| format!(" version {}", version.number)).unwrap_or_default();
    let mut lines = vec![
        format!("Execution  {}", execution.id),
        format!("Function   {}{version}, requested as {}", execution.function, execution.selector),
        format!("Status     {}", status(execution)),
        format!(
            "Started    {} by {}, {}",
            local(execution.created_at),
            printable(&execution.started_by),
            printable(&whole_cause(execution))
        ),
    ];
    if let Some(tick) = execution.scheduled_at {
        lines.push(format!("For        {}", local(tick)));
    }
    if !execution.description.is_empty() {
        lines.push(format!("About      {}", printable(&execution.description)));
    }
    let again = |end: AttemptEnd| matches!(end, AttemptEnd::Lost | AttemptEnd::Unbegun | AttemptEnd::Stopped);
    let tried_again = execution.attempts.iter().any(|attempt| attempt.end.is_some_and(again));
    if execution.attempts.len() > 1 || tried_again {
        for attempt in &execution.attempts {
            let end = attempt.end.map_or("running", |end| end.as_str());
            let node = printable(&attempt.node);
            lines.push(format!("Attempt {}  {} on {node}, {end}", attempt.number, local(attempt.started_at)));
        }
    }
    if let Some(input) = &execution.input {
        lines.push(format!("Input      {}", value(input)));
    }
    if let Some(result) = &execution.result {
        lines.push(format!("Result     {}", value(result)));
    }
    lines.join("\n")
}

pub fn status(execution: &Execution) -> String {
    let stopping = if execution.cancelling && !execution.status.is_ended() { ", cancelling" } else { "" };
    match execution.duration_ms {
        Some(took) if execution.status != ExecutionStatus::Queued => {
            format!("{}, took {}", execution.status, length(took))
        }
        _ => format!("{}{stopping}", execution.status),
    }
}

/// `api`, `job nightly`, `job 0190…` where it has no name, `timer nightly`
pub fn cause(execution: &Execution) -> String {
    let cause = &execution.cause;
    match cause.name.as_ref().or(cause.id.as_ref()) {
        Some(called) => format!("{} {called}", cause.kind),
        None => cause.kind.to_string(),
    }
}

/// `job nightly (0190…)`
fn whole_cause(execution: &Execution) -> String {
    match (&execution.cause.name, &execution.cause.id) {
        (Some(_), Some(id)) => format!("{} ({id})", cause(execution)),
        _ => cause(execution),
    }
}

/// A JSON string as plain text, any other value as JSON on one line.
pub fn value(value: &RawJson) -> String {
    printable(&value.to_text().unwrap_or_else(|| value.spaced()))
}

/// `850 ms`, `12.4 s`
pub fn length(ms: i64) -> String {
    match ms {
        short @ ..1000 => format!("{short} ms"),
        long => format!("{:.1} s", long as f64 / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_a_single_attempt_if_it_will_be_retried() {
        let shown = |end: Option<&str>| {
            let attempt = json!({ "number": 1, "startedAt": "2030-01-01T00:00:00Z", "node": "bcdfgh", "end": end });
            let execution = json!({
                "id": "01ba60d3-3800-7000-8000-000000000000", "function": "wait", "version": null, "selector": "latest",
                "status": "queued", "sync": false, "startedBy": "admin", "cause": { "kind": "api" },
                "createdAt": "2030-01-01T00:00:00Z", "attempts": [attempt],
            });
            text(&serde_json::from_value(execution).expect("an execution"))
        };
        for end in ["stopped", "lost", "unbegun"] {
            assert!(shown(Some(end)).contains(&format!("on bcdfgh, {end}")), "{}", shown(Some(end)));
        }
        for end in [Some("success"), None] {
            assert!(!shown(end).contains("Attempt"), "the status says so already: {}", shown(end));
        }
    }
}

//! Jobs as text.

use milepost_model::job::Job;

use crate::commands::execution::value;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{local, printable};

pub fn one(context: &Context<'_>, job: &Job) -> Result<()> {
    context.ui.show(job, |job| vec![job.id.clone()], text)
}

fn text(job: &Job) -> String {
    let mut lines = vec![format!("Job       {}", job.id)];
    if !job.name.is_empty() {
        lines.push(format!("Name      {}", printable(&job.name)));
    }
    lines.push(format!("Runs      {}", target(job)));
    lines.push(format!("Schedule  {}", printable(&schedule(job))));
    lines.push(format!("State     {}, started {}{}", job.state, executions(job.fired), left(job)));
    if let Some(next) = job.next_at {
        lines.push(format!("Next      {}", local(next)));
    }
    lines.push(format!("Created   {} by {}", local(job.created_at), printable(&job.created_by)));
    if let Some(input) = &job.input {
        lines.push(format!("Input     {}", value(input)));
    }
    lines.join("\n")
}

/// `hello @stable`, `hello version 3`
pub fn target(job: &Job) -> String {
    match job.version {
        Some(version) => format!("{} version {version}", job.function),
        None => format!("{} {}", job.function, job.selector),
    }
}

/// `*/5 * * * * UTC`, `once at 2026-01-02 03:04:05`
pub fn schedule(job: &Job) -> String {
    let first = job.first_at.map(local);
    match (&job.cron, first) {
        (Some(cron), first) => {
            let zone = if job.zone.is_empty() { "UTC" } else { &job.zone };
            let first = first.map(|first| format!(", first at {first}")).unwrap_or_default();
            format!("{cron} {zone}{first}")
        }
        (None, Some(first)) => format!("once at {first}"),
        (None, None) => String::new(),
    }
}

fn executions(fired: i64) -> String {
    if fired == 1 { "1 execution".to_owned() } else { format!("{fired} executions") }
}

fn left(job: &Job) -> String {
    match job.count {
        Some(count) if job.state.is_open() => format!(", {count} left"),
        _ => String::new(),
    }
}

//! Executions, jobs, timers and webhooks on a real server: their results, the versions they run,
//! and what survives the death of a server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "executions/crashes.rs"]
mod crashes;
#[path = "executions/ends.rs"]
mod ends;
#[path = "executions/fairness.rs"]
mod fairness;
#[path = "executions/gate.rs"]
mod gate;
#[path = "executions/jobs.rs"]
mod jobs;
#[path = "executions/nodes.rs"]
mod nodes;
#[path = "executions/stage.rs"]
mod stage;
#[path = "executions/timers.rs"]
mod timers;
#[path = "executions/versions.rs"]
mod versions;
#[path = "executions/webhooks.rs"]
mod webhooks;

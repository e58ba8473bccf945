//! Jobs in the words of v1.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod update;

use milepost_catalog::V1Thing;
use milepost_model::job::{Job, JobState};
use milepost_model::schedule::Schedule;
use milepost_model::{AppName, Timestamp};
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{self, opt_time, time};
use super::project::Project;
use super::targets::{Names, input_text};
use crate::state::State;

pub(crate) const FIELDS: [&str; 13] = [
    "id",
    "name",
    "count",
    "status",
    "function_alias",
    "function_id",
    "function_version",
    "function_input",
    "pattern",
    "first_execution_time",
    "next_execution_time",
    "created_at",
    "updated_at",
];

/// The earliest that a time may be.
const AHEAD_MS: i64 = 60_000;

fn show(app: &AppName, names: &Names, job: &Job) -> Map<String, Value> {
    let object = json!({
        "id": job.id,
        "name": if job.name.is_empty() { Value::Null } else { job.name.as_str().into() },
        "count": if job.state == JobState::Done { json!(0) } else { json!(job.count) },
        "status": job.state,
        "function_input": input_text(job.input.as_ref()),
        "pattern": job.cron,
        "first_execution_time": opt_time(job.first_at),
        "next_execution_time": opt_time(job.next_at),
        "project_id": app,
        "created_at": time(job.created_at),
        "updated_at": opt_time(job.updated_at),
    });
    let mut object = object.as_object().cloned().unwrap_or_default();
    // One that may go on holds its function.
    let at = (!job.state.is_open()).then(|| job.updated_at.map_or(job.created_at, |at| at.max(job.created_at)));
    names.tell(&mut object, &job.function, &job.selector, job.version, at);
    object
}

async fn find(state: &State, project: &Project, id: &str) -> V1Result<(AppName, Job)> {
    let unknown = || Fault::unknown("Job", "id", id);
    let id = names::id(id)?;
    let home = state.catalog.v1_home(V1Thing::Job, id.clone()).await?;
    let app = home.filter(|app| project.sees(app)).ok_or_else(unknown)?;
    match state.catalog.job_get(&app, id).await {
        Err(error) if super::fault::is_unknown(&error) => Err(unknown()),
        found => Ok((app, found?)),
    }
}

/// For writing: only the project's own.
async fn find_own(state: &State, project: &Project, id: &str) -> V1Result<Job> {
    let (app, job) = find(state, project, id).await?;
    if app == project.name { Ok(job) } else { Err(Fault::unknown("Job", "id", id)) }
}

/// Five fields, in UTC.
fn check_pattern(pattern: &str) -> V1Result<()> {
    let five = pattern.split_whitespace().count() == 5;
    if five && Schedule::parse(pattern.trim(), "").is_ok() {
        return Ok(());
    }
    Err(Fault::bad(format!("The specified pattern is not valid: {pattern}")))
}

fn read_future(state: &State, text: &str) -> V1Result<Timestamp> {
    let at = names::read_time(text)?;
    if at.as_millisecond() < state.catalog.clock().now().as_millisecond() + AHEAD_MS {
        return Err(Fault::bad("Execution time must be at least 1 minute in the future."));
    }
    Ok(at)
}

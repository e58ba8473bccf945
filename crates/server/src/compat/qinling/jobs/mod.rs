//! Jobs of the v1 interface.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod pattern;
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

/// How far in the future a given time must be, at least.
const AHEAD_MS: i64 = 60_000;

fn show(app: &AppName, names: &Names, job: &Job) -> Map<String, Value> {
    let object = json!({
        "id": job.id,
        "name": if job.name.is_empty() { Value::Null } else { job.name.as_str().into() },
        "count": if job.state == JobState::Done { json!(0) } else { json!(job.count) },
        "status": job.state,
        "function_input": input_text(job.input.as_ref()),
        "pattern": job.cron.as_deref().map(pattern::show),
        "first_execution_time": opt_time(job.first_at),
        "next_execution_time": opt_time(job.next_at.or_else(|| kept_next(job))),
        "project_id": app,
        "created_at": time(job.created_at),
        "updated_at": opt_time(job.updated_at),
    });
    let mut object = object.as_object().cloned().unwrap_or_default();
    // A job that may continue keeps its function from being deleted.
    let at = (!job.state.is_open()).then(|| job.updated_at.map_or(job.created_at, |at| at.max(job.created_at)));
    names.tell_bound(&mut object, &job.function, &job.selector, job.version, at);
    object
}

/// When a paused or cancelled job would have run next, as of its last change. The catalog does not
/// keep that time.
fn kept_next(job: &Job) -> Option<Timestamp> {
    match &job.cron {
        _ if matches!(job.state, JobState::Running | JobState::Done) => None,
        Some(cron) => next_of(job, &Schedule::parse(cron, &job.zone).ok()?, job.updated_at.unwrap_or(job.created_at)),
        None => job.first_at.filter(|_| job.fired == 0),
    }
}

/// When a job runs next if it is started at `at`: at its first time, if that is in the future and
/// still matches the pattern, otherwise at the next match.
fn next_of(job: &Job, schedule: &Schedule, at: Timestamp) -> Option<Timestamp> {
    let stands = |first: &Timestamp| job.fired == 0 && *first > at && schedule.next_from(*first) == Some(*first);
    job.first_at.filter(stands).or_else(|| schedule.next_after(at))
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

/// Finds a job for writing: only the project's own.
async fn find_own(state: &State, project: &Project, id: &str) -> V1Result<Job> {
    let (app, job) = find(state, project, id).await?;
    if app == project.name { Ok(job) } else { Err(Fault::unknown("Job", "id", id)) }
}

fn read_future(state: &State, text: &str) -> V1Result<Timestamp> {
    let at = names::read_time(text)?;
    if at.as_millisecond() < state.catalog.clock().now().as_millisecond() + AHEAD_MS {
        return Err(Fault::bad("Execution time must be at least 1 minute in the future."));
    }
    Ok(at)
}

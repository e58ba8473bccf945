use axum::Json;
use milepost_model::Timestamp;
use milepost_model::job::{Job, JobChange, JobState};
use milepost_model::schedule::Schedule;
use serde_json::{Map, Value};

use super::{find_own, next_of, pattern, read_future, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let job = find_own(&state, &project, &id).await?;
    if !job.state.is_open() {
        return Err(Fault::bad("Can not update a finished job."));
    }
    let (cron, schedule) = match fields.text("pattern")? {
        // A job that runs once cannot become a recurring one, or the reverse.
        Some(text) if job.cron.is_none() || text.is_empty() => {
            return Err(Fault::bad("Can not change job type."));
        }
        Some(text) => pattern::read(&text).map(|(cron, schedule)| (Some(cron), Some(schedule)))?,
        None => (None, None),
    };
    let state_wanted = match fields.text("status")?.as_deref() {
        None => None,
        Some("running") => Some(JobState::Running),
        Some("paused") => Some(JobState::Paused),
        Some("cancelled") => Some(JobState::Cancelled),
        Some(_) => return Err(Fault::bad("Invalid status.")),
    };
    let next = fields.text("next_execution_time")?.filter(|next| !next.is_empty());
    let next = next.map(|next| read_future(&state, &next)).transpose()?;
    let next = next
        .or_else(|| next_of_pattern(&job, schedule.filter(|_| cron != job.cron), state_wanted, state.catalog.now()));
    let change = JobChange {
        name: fields.short_text("name")?,
        state: state_wanted,
        cron,
        zone: None,
        count: None,
        input: targets::input(fields.text("function_input")?)?,
    };
    let mut job = state.apply(state.catalog.job_update(app, project.actor(), job.id, change).await?).await;
    if let Some(next) = next {
        state.apply(state.catalog.v1_job_next(app, project.actor(), job.id.clone(), next).await?).await;
        job = state.catalog.job_get(app, job.id).await?;
    }
    Ok(Json(show(app, &Names::of_one(&state, app, &job.function).await?, &job)))
}

/// A new pattern, or the end of a pause, restarts the schedule from now.
fn next_of_pattern(
    job: &Job,
    another: Option<Schedule>,
    wanted: Option<JobState>,
    now: Timestamp,
) -> Option<Timestamp> {
    if let Some(schedule) = another {
        return schedule.next_after(now);
    }
    let goes_on = job.state == JobState::Paused && wanted == Some(JobState::Running);
    let cron = job.cron.as_ref().filter(|_| goes_on)?;
    next_of(job, &Schedule::parse(cron, &job.zone).ok()?, now)
}

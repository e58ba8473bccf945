use axum::Json;
use milepost_model::Permission;
use milepost_model::job::{JobChange, JobState};
use serde_json::{Map, Value};

use super::{check_pattern, find_own, read_future, show};
use crate::handlers::Shared;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::targets::{self, Names};
use crate::v1::unread::Unread;

pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may(Permission::MovePointer)?;
    let fields = body.fields().await?;
    let job = find_own(&state, &project, &id).await?;
    if !job.state.is_open() {
        return Err(Fault::bad("Can not update a finished job."));
    }
    let pattern = fields.text("pattern")?;
    match &pattern {
        // A job that runs once stays one, and so does the other kind.
        Some(pattern) if job.cron.is_none() || pattern.is_empty() => {
            return Err(Fault::bad("Can not change job type."));
        }
        Some(pattern) => check_pattern(pattern)?,
        None => {}
    }
    let state_wanted = match fields.text("status")?.as_deref() {
        None => None,
        Some("running") => Some(JobState::Running),
        Some("paused") => Some(JobState::Paused),
        Some("cancelled") => Some(JobState::Cancelled),
        Some(_) => return Err(Fault::bad("Invalid status.")),
    };
    let next = fields.text("next_execution_time")?.filter(|next| !next.is_empty());
    let next = next.map(|next| read_future(&state, &next)).transpose()?;
    let change = JobChange {
        name: fields.short_text("name")?,
        state: state_wanted,
        cron: pattern,
        zone: None,
        count: None,
        input: targets::input(fields.text("function_input")?)?,
    };
    let mut job = state.catalog.job_update(app, project.actor(), job.id, change).await?;
    if let Some(next) = next {
        state.catalog.v1_job_next(app, project.actor(), job.id.clone(), next).await?;
        job = state.catalog.job_get(app, job.id).await?;
    }
    state.executions.wake_scheduler();
    Ok(Json(show(app, &Names::of_one(&state, app, &job.function).await?, &job)))
}

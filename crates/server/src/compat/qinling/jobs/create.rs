use axum::Json;
use axum::http::StatusCode;
use milepost_model::job::NewJob;
use serde_json::{Map, Value};

use super::{pattern, read_future, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

pub(crate) async fn create(
    project: Project,
    state: Shared,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let text = fields.text("pattern")?.filter(|pattern| !pattern.is_empty());
    let first = fields.text("first_execution_time")?.filter(|first| !first.is_empty());
    let count = fields.int("count")?;
    if !fields.has("function_alias") && !fields.has("function_id") {
        return Err(Fault::bad("Either function_alias or function_id must be provided."));
    }
    if text.is_none() && first.is_none() {
        return Err(Fault::bad("pattern or first_execution_time must be specified."));
    }
    let first_at = first.map(|first| read_future(&state, &first)).transpose()?;
    match count {
        Some(..=0) => return Err(Fault::bad("count must be at least 1.")),
        Some(2..) if text.is_none() => {
            return Err(Fault::bad("pattern must be provided if count is greater than 1."));
        }
        _ => {}
    }
    let (cron, schedule) = text.map(|text| pattern::read(&text)).transpose()?.unzip();
    // A job with a pattern shows its first firing here, whether or not the caller named a first time.
    let first_at = match &schedule {
        Some(schedule) => schedule.next_from(first_at.unwrap_or_else(|| state.catalog.clock().now())),
        None => first_at,
    };
    let target = targets::read(&state, &project, &fields).await?;
    let new = NewJob {
        name: fields.short_text("name")?.unwrap_or_default(),
        function: target.function,
        version: target.selector,
        cron,
        zone: String::new(),
        first_at,
        count,
        input: targets::input(fields.text("function_input")?)?,
    };
    let job = state.apply(state.catalog.job_create(app, project.actor(), new).await?).await;
    Ok((StatusCode::CREATED, Json(show(app, &Names::of_one(&state, app, &job.function).await?, &job))))
}

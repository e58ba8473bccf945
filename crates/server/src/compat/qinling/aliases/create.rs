use axum::Json;
use axum::http::StatusCode;
use milepost_model::{AliasName, Refusal};
use serde_json::{Map, Value};

use super::show;
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
    let (Some(name), Some(function)) = (fields.text("name")?, fields.text("function_id")?) else {
        return Err(Fault::missing("'function_id', 'name'"));
    };
    let name: AliasName = name.parse().map_err(Refusal::from)?;
    let version = fields.int("function_version")?.unwrap_or(0);
    let target = targets::of_function(&state, &project, &function, version).await?;
    let description = fields.short_text("description")?.unwrap_or_default();
    let target = (target.function, target.selector);
    let made = state.apply(state.catalog.v1_alias_create(app, project.actor(), name, target, description).await?).await;
    Ok((StatusCode::CREATED, Json(show(app, &Names::of_one(&state, app, &made.function).await?, &made))))
}

use axum::Json;
use axum::http::StatusCode;
use milepost_model::{AliasName, Permission, Refusal};
use serde_json::{Map, Value};

use super::show;
use crate::handlers::Shared;
use crate::v1::changed;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::project::Project;
use crate::v1::targets::{self, Names};
use crate::v1::unread::Unread;

pub(crate) async fn create(
    project: Project,
    state: Shared,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may(Permission::MovePointer)?;
    let fields = body.fields().await?;
    let (Some(name), Some(function)) = (fields.text("name")?, fields.text("function_id")?) else {
        return Err(Fault::missing("'function_id', 'name'"));
    };
    let name: AliasName = name.parse().map_err(Refusal::from)?;
    let version = fields.int("function_version")?.unwrap_or(0);
    let target = targets::of_function(&state, &project, &function, version).await?;
    let description = fields.short_text("description")?.unwrap_or_default();
    let target = (target.function, target.selector);
    let made = state.catalog.v1_alias_create(app, project.actor(), name, target, description).await?;
    changed(&state, app).await;
    Ok((StatusCode::CREATED, Json(show(app, &Names::of_one(&state, app, &made.function).await?, &made))))
}

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use milepost_model::webhook::NewWebhook;
use serde_json::{Map, Value};

use super::show;
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

pub(crate) async fn create(
    project: Project,
    state: Shared,
    headers: HeaderMap,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let target = targets::read(&state, &project, &fields).await?;
    let description = fields.short_text("description")?.unwrap_or_default();
    let new = NewWebhook { function: target.function, version: target.selector, description, secret: None };
    let webhook = state.apply(state.catalog.webhook_create(app, project.actor(), new, None).await?).await;
    Ok((
        StatusCode::CREATED,
        Json(show(app, &Names::of_one(&state, app, &webhook.function).await?, &webhook, &headers)),
    ))
}

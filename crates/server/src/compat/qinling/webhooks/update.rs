use axum::Json;
use axum::http::HeaderMap;
use milepost_catalog::SecretChange;
use milepost_model::webhook::WebhookChange;
use serde_json::{Map, Value};

use super::{find_own, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// Changes the function, version or alias, or the description.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let webhook = find_own(&state, &project, &id).await?;
    let description = fields.short_text("description")?;
    let names = Names::of(&state, app).await?;
    let target = if fields.has("function_alias") || fields.has("function_id") {
        Some(targets::read(&state, &project, &fields).await?)
    } else if let Some(version) = fields.int("function_version")? {
        let function = names.id(&webhook.function);
        let function = function.as_str().ok_or_else(|| Fault::unknown("Webhook", "id", &id))?;
        Some(targets::of_function(&state, &project, function, version).await?)
    } else {
        None
    };
    let (function, version) = target.map(|target| (target.function, target.selector)).unzip();
    let same = function.as_ref().is_none_or(|function| *function == webhook.function)
        && version.as_ref().is_none_or(|version| *version == webhook.selector)
        && description.as_ref().is_none_or(|description| *description == webhook.description);
    if same {
        return Ok(Json(show(app, &names, &webhook, &headers)));
    }
    let change = WebhookChange { function, version, description, secret: None };
    let changed = state.catalog.webhook_update(app, project.actor(), webhook.id, change, SecretChange::Keep).await?;
    Ok(Json(show(app, &names, &state.apply(changed).await, &headers)))
}

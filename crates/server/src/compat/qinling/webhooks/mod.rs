//! Webhooks of the v1 interface. Those created here have no secret. Webhooks with a secret require
//! signed calls here too.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod invoke;
pub(crate) mod list;
pub(crate) mod update;

use axum::http::HeaderMap;
use milepost_catalog::V1Thing;
use milepost_model::AppName;
use milepost_model::webhook::Webhook;
use serde_json::{Map, Value, json};

use super::fault::{Fault, V1Result};
use super::names::{self, endpoint, opt_time, time};
use super::project::Project;
use super::targets::Names;
use crate::state::State;

pub(crate) const FIELDS: [&str; 8] = [
    "id",
    "function_alias",
    "function_id",
    "function_version",
    "description",
    "created_at",
    "updated_at",
    "webhook_url",
];

fn show(app: &AppName, names: &Names, webhook: &Webhook, headers: &HeaderMap) -> Map<String, Value> {
    let said = webhook.description.as_str();
    let object = json!({
        "id": webhook.id,
        "description": if said.is_empty() { Value::Null } else { said.into() },
        "project_id": app,
        "created_at": time(webhook.created_at),
        "updated_at": opt_time(webhook.updated_at),
        "webhook_url": format!("{}/v1/webhooks/{}/invoke", endpoint(headers), webhook.id),
    });
    let mut object = object.as_object().cloned().unwrap_or_default();
    names.tell_bound(&mut object, &webhook.function, &webhook.selector, webhook.version, None);
    object
}

async fn find(state: &State, project: &Project, id: &str) -> V1Result<(AppName, Webhook)> {
    let unknown = || Fault::unknown("Webhook", "id", id);
    let id = names::id(id)?;
    let home = state.catalog.v1_home(V1Thing::Webhook, id.clone()).await?;
    let app = home.filter(|app| project.sees(app)).ok_or_else(unknown)?;
    match state.catalog.webhook_get(&app, id).await {
        Err(error) if super::fault::is_unknown(&error) => Err(unknown()),
        found => Ok((app, found?)),
    }
}

/// Finds a webhook for writing: only the project's own.
async fn find_own(state: &State, project: &Project, id: &str) -> V1Result<Webhook> {
    let (app, webhook) = find(state, project, id).await?;
    if app == project.name { Ok(webhook) } else { Err(Fault::unknown("Webhook", "id", id)) }
}

use axum::Json;
use axum::http::StatusCode;
use milepost_catalog::V1Change;
use milepost_model::UnitKind;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::{Put, PutOnly, UnitPut};
use serde_json::{Map, Value, json};

use super::{available, not_for_all, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::compat::qinling::{functions, names};
use crate::state::Shared;

pub(crate) async fn create(
    project: Project,
    state: Shared,
    body: Unread,
) -> V1Result<(StatusCode, Json<Map<String, Value>>)> {
    project.may()?;
    let fields = body.fields().await?;
    let Some(image) = fields.short_text("image")?.filter(|image| !image.is_empty()) else {
        return Err(Fault::missing("'image'"));
    };
    let spec = available(&state, &image).await?;
    let name = fields.short_text("name")?;
    // Only administrators of all projects may create public runtimes.
    let public = fields.flag("is_public")?.unwrap_or(project.sees_all);
    if public && !project.sees_all {
        return Err(not_for_all());
    }
    let facts = json!({
        "name": name,
        "image": image,
        "description": fields.short_text("description")?,
        "is_public": public,
        "trusted": fields.flag("trusted")?.unwrap_or(true),
    });
    let facts = facts.as_object().cloned().unwrap_or_default();
    let made = functions::put(&state, &project, |taken| {
        let unit = names::unit_name(&state, UnitKind::Environment, name.as_deref(), taken)?;
        let put = Put {
            name: unit.clone(),
            label: None,
            description: None,
            group: None,
            force: false,
            only: Some(PutOnly::New),
            unit: UnitPut::Environment(spec.clone()),
        };
        let message = format!("create runtime {unit}");
        let change = Change { message, puts: vec![put], ..Change::default() };
        let key = UnitKey { kind: UnitKind::Environment, name: unit };
        Ok(V1Change::new(change, key, facts.clone()))
    })
    .await?;
    // The runtime can be used from now on. v1 clients query it again before they do.
    Ok((StatusCode::CREATED, Json(show(&made, &spec, "creating"))))
}

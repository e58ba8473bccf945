use axum::Json;
use milepost_catalog::V1Change;
use milepost_model::UnitKind;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::{Put, PutOnly, UnitPut};
use serde_json::{Map, Value, json};

use super::{available, not_for_all, show, spec_of};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::names;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// The image can only change while the runtime is unused, because functions were made for the
/// current one.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    project.may()?;
    let fields = body.fields().await?;
    let unit = names::own_unit(&state, &project, UnitKind::Environment, &id).await?;
    let mut spec = spec_of(&state, &unit).await?;
    // A runtime not created through v1 gets its facts with the first change.
    let mut defaults = show(&unit, &spec, "available");
    defaults.retain(|name, _| ["name", "image", "description", "is_public", "trusted"].contains(&name.as_str()));
    let mut facts = Map::new();
    let mut puts = Vec::new();
    if let Some(image) = fields.short_text("image")?.filter(|image| !image.is_empty()) {
        spec = available(&state, &image).await?;
        facts.insert("image".to_owned(), image.into());
        puts.push(Put {
            name: unit.name.clone(),
            label: None,
            description: None,
            group: None,
            force: false,
            only: Some(PutOnly::Existing),
            unit: UnitPut::Environment(spec.clone()),
        });
    }
    for name in ["name", "description"] {
        if let Some(text) = fields.short_text(name)? {
            facts.insert(name.to_owned(), text.into());
        }
    }
    for name in ["is_public", "trusted"] {
        if let Some(flag) = fields.flag(name)? {
            facts.insert(name.to_owned(), flag.into());
        }
    }
    if facts.get("is_public") == Some(&json!(true)) && unit.facts["is_public"] != true && !project.sees_all {
        return Err(not_for_all());
    }
    let change = Change { message: format!("update runtime {}", unit.name), puts, ..Change::default() };
    let key = UnitKey { kind: UnitKind::Environment, name: unit.name };
    let wanted = V1Change { id: Some(unit.id), defaults, ..V1Change::new(change, key, facts) };
    let unit = state.apply(state.catalog.v1_change(&project.name, project.actor(), wanted).await?).await;
    let spec = spec_of(&state, &unit).await?;
    Ok(Json(show(&unit, &spec, "available")))
}

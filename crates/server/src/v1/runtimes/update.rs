use axum::Json;
use milepost_catalog::V1Change;
use milepost_model::change::{Change, UnitKey};
use milepost_model::unit_put::{Put, PutOnly, UnitPut};
use milepost_model::{Permission, UnitKind};
use serde_json::{Map, Value, json};

use super::{environment, show, spec_of};
use crate::handlers::Shared;
use crate::v1::fault::V1Result;
use crate::v1::fields::Fields;
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::{changed, names};

/// Another image is for functions that are made or updated from now on: versions keep what they have.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(id): Path<String>,
    fields: Fields,
) -> V1Result<Json<Map<String, Value>>> {
    project.may(Permission::Administer)?;
    let unit = names::own_unit(&state, &project, UnitKind::Environment, &id).await?;
    let mut spec = spec_of(&state, &unit).await?;
    // One that v1 did not make gets its facts with the first change.
    let mut facts = show(&unit, &spec, "available");
    facts.retain(|name, _| ["name", "image", "description", "is_public", "trusted"].contains(&name.as_str()));
    let mut puts = Vec::new();
    if let Some(image) = fields.short_text("image")? {
        spec = environment(&image)?;
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
    let change = Change { message: format!("update runtime {}", unit.name), puts, ..Change::default() };
    let key = UnitKey { kind: UnitKind::Environment, name: unit.name };
    let wanted = V1Change { change, key, facts: json!(facts), unless_jobs: false };
    let unit = state.catalog.v1_change(&project.name, project.actor(), wanted).await?;
    changed(&state, &project.name).await;
    Ok(Json(show(&unit, &spec, "available")))
}

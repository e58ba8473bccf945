use std::collections::HashMap;

use axum::Json;
use axum::http::Uri;
use milepost_model::{AppName, UnitKind, UnitName};
use serde_json::{Map, Value};

use super::{FIELDS, read_spec, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::Wanted;
use crate::compat::qinling::project::Project;
use crate::state::{Shared, State};

const PAGE: i64 = 1000;

pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut objects = Vec::new();
    for app in wanted.projects(&state, &project).await? {
        objects.extend(of_app(&state, &app).await?);
    }
    Ok(wanted.answer("functions", objects))
}

async fn of_app(state: &State, app: &AppName) -> V1Result<Vec<Map<String, Value>>> {
    let units = state.catalog.v1_units(app, UnitKind::Function).await?;
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let environments = state.catalog.v1_units(app, UnitKind::Environment).await?;
    let environments: HashMap<UnitName, String> = environments.into_iter().map(|unit| (unit.name, unit.id)).collect();
    let mut specs = HashMap::new();
    let mut after = None;
    loop {
        let page = state.catalog.unit_list(app, Some(UnitKind::Function), None, after, PAGE).await?;
        for unit in page.items {
            specs.insert(unit.name, read_spec(unit.current.spec)?);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    // Skips functions that were created or deleted between the two queries.
    let shown = units.iter().filter_map(|unit| {
        let spec = specs.get(&unit.name)?;
        Some(show(unit, spec, environments.get(&spec.environment.name).cloned()))
    });
    Ok(shown.collect())
}

use axum::Json;
use axum::http::Uri;
use milepost_model::UnitKind;
use serde_json::Value;

use super::{COPY_OF, FIELDS, show, spec_of};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::Wanted;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// The project's own runtimes, and the public ones.
pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut found = state.catalog.v1_public_runtimes().await?;
    for app in wanted.projects(&state, &project).await? {
        let own = state.catalog.v1_units(&app, UnitKind::Environment).await?;
        found.extend(own.into_iter().filter(|unit| unit.facts["is_public"] != true));
    }
    found.retain(|unit| unit.facts.get(COPY_OF).is_none());
    let mut objects = Vec::with_capacity(found.len());
    for unit in found {
        objects.push(show(&unit, &spec_of(&state, &unit).await?, "available"));
    }
    Ok(wanted.answer("runtimes", objects))
}

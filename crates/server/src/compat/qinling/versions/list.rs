use axum::Json;
use axum::http::Uri;
use milepost_model::UnitKind;
use serde_json::Value;

use super::{FIELDS, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::Wanted;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Sorted by number.
pub(crate) async fn list(project: Project, state: Shared, Path(id): Path<String>, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let unit = names::unit(&state, &project, UnitKind::Function, &id).await?;
    let found = state.catalog.v1_versions(&unit.app, unit.name.clone()).await?;
    Ok(wanted.answer("function_versions", found.iter().map(|version| show(&unit, version)).collect()))
}

use axum::Json;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use milepost_model::change::UnitKey;
use milepost_model::{Selector, UnitKind};

use super::{find, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::functions::get::wants_download;
use crate::compat::qinling::functions::{code, read_spec};
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Shows the version, or downloads its code with `download`.
pub(crate) async fn get(
    project: Project,
    state: Shared,
    Path((id, version)): Path<(String, String)>,
    uri: Uri,
) -> V1Result<Response> {
    project.may()?;
    let unit = names::unit(&state, &project, UnitKind::Function, &id).await?;
    let found = find(&state, &unit, &version).await?;
    if !wants_download(&uri) {
        return Ok(Json(show(&unit, &found)).into_response());
    }
    let key = UnitKey { kind: UnitKind::Function, name: unit.name.clone() };
    let version = state.catalog.version_get(&unit.app, key, Selector::Number(found.version)).await?;
    let name = format!("{}_{}", unit.name, found.number);
    code::download(&state, &unit.app, &read_spec(version.spec)?, &name).await
}

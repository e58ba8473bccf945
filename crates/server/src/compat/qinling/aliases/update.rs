use axum::Json;
use serde_json::{Map, Value};

use super::{find, show};
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::{self, Names};
use crate::compat::qinling::unread::Unread;
use crate::state::Shared;

/// Moves an alias or edits its description.
pub(crate) async fn update(
    project: Project,
    state: Shared,
    Path(name): Path<String>,
    body: Unread,
) -> V1Result<Json<Map<String, Value>>> {
    let app = project.may()?;
    let fields = body.fields().await?;
    let alias = find(&state, app, &name).await?;
    let names = Names::of(&state, app).await?;
    let description = fields.short_text("description")?;
    let (function, version) = (fields.text("function_id")?, fields.int("function_version")?);
    let target = if function.is_some() || version.is_some() {
        let own = names.id(&alias.function);
        let function = function.as_deref().or(own.as_str());
        let function = function.ok_or_else(|| Fault::unknown("FunctionAlias", "name", &name))?;
        let kept = if alias.follows { 0 } else { alias.number.unwrap_or(0) };
        let target = targets::of_function(&state, &project, function, version.unwrap_or(kept)).await?;
        Some((target.function, target.selector))
    } else {
        None
    };
    let moved = state.catalog.v1_alias_update(app, project.actor(), alias.name, target, description).await?;
    Ok(Json(show(app, &names, &state.apply(moved).await)))
}

use axum::Json;
use axum::http::Uri;
use serde_json::Value;

use super::{FIELDS, show};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::lists::Wanted;
use crate::compat::qinling::project::Project;
use crate::compat::qinling::targets::Names;
use crate::state::Shared;

/// Sorted by name.
pub(crate) async fn list(project: Project, state: Shared, uri: Uri) -> V1Result<Json<Value>> {
    let wanted = Wanted::read(&uri, &project, &FIELDS)?;
    let mut objects = Vec::new();
    for app in wanted.projects(&state, &project).await? {
        let names = Names::of(&state, &app).await?;
        let found = state.catalog.v1_alias_list(&app).await?;
        objects.extend(found.iter().map(|alias| show(&app, &names, alias)));
    }
    Ok(wanted.answer("function_aliases", objects))
}

use axum::Json;
use axum::http::Uri;
use serde_json::{Value, json};

use super::scale;
use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Lists the instances of a version on this node.
pub(crate) async fn list(project: Project, state: Shared, Path(id): Path<String>, uri: Uri) -> V1Result<Json<Value>> {
    let mut version = 0;
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        if name == "function_version" {
            version =
                value.parse().map_err(|_| Fault::bad(format!("The function version '{value}' is not a number.")))?;
        }
    }
    let named = (version != 0).then(|| version.to_string());
    let scaled = scale::find(&state, &project, &id, named.as_deref()).await?;
    let mut workers = Vec::new();
    for pool in state.plane.runtime.status(&scaled.unit.app) {
        if pool.function == scaled.unit.name && pool.number == scaled.number {
            workers.extend(pool.ids.iter().map(|worker| {
                let name = format!("{}-{}-{worker}", pool.function, pool.number);
                json!({ "function_id": scaled.unit.id, "function_version": version, "worker_name": name })
            }));
        }
    }
    Ok(Json(json!({ "workers": workers })))
}

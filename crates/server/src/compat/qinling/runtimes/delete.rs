use axum::http::StatusCode;
use milepost_catalog::CatalogError;
use milepost_model::{Code, UnitKind};

use crate::compat::qinling::fault::{Fault, V1Result};
use crate::compat::qinling::names;
use crate::compat::qinling::names::Path;
use crate::compat::qinling::project::Project;
use crate::state::Shared;

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    project.may()?;
    let unit = names::own_unit(&state, &project, UnitKind::Environment, &id).await?;
    let deleted = match state.catalog.v1_runtime_delete(&project.name, project.actor(), unit.name).await {
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::StillReferenced => {
            return Err(Fault::forbidden(format!("Runtime {id} is still in use.")));
        }
        other => other?,
    };
    state.apply(deleted).await;
    Ok(StatusCode::NO_CONTENT)
}

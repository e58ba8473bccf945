use axum::http::StatusCode;
use milepost_catalog::CatalogError;
use milepost_model::{Code, Permission, UnitKind};

use crate::handlers::Shared;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::{changed, names};

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    project.may(Permission::Administer)?;
    let unit = names::own_unit(&state, &project, UnitKind::Environment, &id).await?;
    match state.catalog.v1_runtime_delete(&project.name, project.actor(), unit.name).await {
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::StillReferenced => {
            return Err(Fault::forbidden(format!("Runtime {id} is still in use.")));
        }
        other => other?,
    }
    changed(&state, &project.name).await;
    Ok(StatusCode::NO_CONTENT)
}

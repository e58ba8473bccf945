use axum::http::StatusCode;
use milepost_catalog::{CatalogError, ChangeInput};
use milepost_model::change::{Change, UnitKey};
use milepost_model::{Code, Permission, UnitKind};

use crate::handlers::Shared;
use crate::v1::fault::{Fault, V1Result};
use crate::v1::names::Path;
use crate::v1::project::Project;
use crate::v1::{changed, names};

pub(crate) async fn delete(project: Project, state: Shared, Path(id): Path<String>) -> V1Result<StatusCode> {
    project.may(Permission::Administer)?;
    let unit = names::own_unit(&state, &project, UnitKind::Environment, &id).await?;
    let in_use = || Fault::forbidden(format!("Runtime {id} is still in use."));
    if state.catalog.v1_runtime_is_used(&unit.id).await? {
        return Err(in_use());
    }
    let key = UnitKey { kind: UnitKind::Environment, name: unit.name };
    let change = Change { message: format!("delete {key}"), removes: vec![key], ..Change::default() };
    let secrets = std::collections::BTreeMap::new();
    let input = ChangeInput { change, secrets, actor: project.actor().to_owned(), idempotency_key: None };
    match state.catalog.change(&project.name, input).await {
        // Of functions and packages that v1 did not make.
        Err(CatalogError::Refused(refusal)) if refusal.code == Code::StillReferenced => return Err(in_use()),
        other => other?,
    };
    changed(&state, &project.name).await;
    Ok(StatusCode::NO_CONTENT)
}

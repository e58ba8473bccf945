use axum::Json;
use milepost_catalog::VersionsToDelete;
use milepost_model::{ChangeOutcome, Permission, Refusal};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Path, Query, unit_key};
use crate::handlers::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRun {
    /// Answers what would go, and does nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Delete a version, or with `all` every version
#[utoipa::path(delete, path = "/apps/{app}/units/{kind}/{name}/versions/{selector}", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), ("selector" = String, Path, description = "`latest`, a number, a uid, a label, `@alias` or `sha256:…`"), DryRun), responses((status = 200, body = ChangeOutcome)))]
pub(crate) async fn versions_delete(
    caller: Caller,
    state: Shared,
    Path((app, kind, name, selector)): Path<(String, String, String, String)>,
    Query(query): Query<DryRun>,
) -> ApiResult<Json<ChangeOutcome>> {
    let app = caller.may(Permission::ChangeCode, &app)?;
    let which = if selector == "all" {
        VersionsToDelete::All
    } else {
        VersionsToDelete::One(selector.parse().map_err(Refusal::from)?)
    };
    let outcome =
        state.catalog.version_delete(&app, caller.name(), unit_key(&kind, &name)?, which, query.dry_run).await?;
    Ok(Json(outcome))
}

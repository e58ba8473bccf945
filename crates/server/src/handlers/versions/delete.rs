use axum::Json;
use milepost_catalog::{Checking, VersionsToDelete};
use milepost_model::{ChangeOutcome, Permission, Refusal};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::checks;
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
    /// Leaves out loading the functions that the delete brings to users.
    #[serde(default)]
    no_check: bool,
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
    let key = unit_key(&kind, &name)?;
    let checking = if query.dry_run {
        Checking::Unasked
    } else if query.no_check {
        Checking::Skipped
    } else {
        let new = state.catalog.version_delete_functions(&app, caller.name(), key.clone(), which.clone()).await?;
        let none = new.functions.is_empty();
        checks::load_before(&state, new, "The delete").await?;
        if none { Checking::Unasked } else { Checking::Loaded }
    };
    let outcome =
        state.catalog.version_delete_checked(&app, caller.name(), key, which, query.dry_run, checking).await?;
    Ok(Json(outcome))
}

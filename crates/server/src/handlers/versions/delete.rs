use std::collections::HashMap;

use axum::Json;
use milepost_catalog::{CatalogError, Checking, VersionsToDelete};
use milepost_model::{ChangeOutcome, Code, Next, Refusal};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::checks;
use crate::edge::extract::{Path, Query, unit_key};
use crate::error::ApiResult;
use crate::phrase;
use crate::state::Shared;

/// Retries if the app changes while functions are loaded.
const ROUNDS: usize = 5;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRun {
    /// Report what would be deleted, without deleting it.
    #[serde(default)]
    dry_run: bool,
    /// Skip loading the functions that the delete would make live.
    #[serde(default)]
    no_check: bool,
}

/// Delete a version, or all versions with `all`
#[utoipa::path(delete, path = "/apps/{app}/units/{kind}/{name}/versions/{selector}", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), ("selector" = String, Path, description = "`latest`, a number, a uid, a label, `@alias` or `sha256:…`"), DryRun), responses((status = 200, body = ChangeOutcome)))]
pub(crate) async fn versions_delete(
    caller: Caller,
    state: Shared,
    Path((app, kind, name, selector)): Path<(String, String, String, String)>,
    Query(query): Query<DryRun>,
) -> ApiResult<Json<ChangeOutcome>> {
    let app = caller.on(&app)?;
    let which = if selector == "all" {
        VersionsToDelete::All
    } else {
        VersionsToDelete::One(selector.parse().map_err(Refusal::from)?)
    };
    let key = unit_key(&kind, &name)?;
    let catalog = &state.catalog;
    let delete = async |checking| {
        let outcome =
            catalog.version_delete_checked(&app, caller.name(), key.clone(), which.clone(), query.dry_run, checking);
        outcome.await.map(|written| written.map(phrase::outcome))
    };
    if query.no_check {
        return Ok(Json(state.apply(delete(Checking::Skipped).await?).await));
    }
    let mut found = HashMap::new();
    for _ in 0..ROUNDS {
        let new = catalog.version_delete_functions(&app, caller.name(), key.clone(), which.clone()).await?;
        let loaded = new.functions.iter().copied().collect();
        if !query.dry_run {
            checks::load_before(&state, new, &mut found, "The delete").await?;
        }
        match delete(Checking::Loaded(loaded)).await {
            // The app changed while functions were loaded, so the delete would make other functions
            // live.
            Err(CatalogError::Refused(refusal)) if refusal.code == Code::HeadMoved => {}
            done => return Ok(Json(state.apply(done?).await)),
        }
    }
    let message = format!("app `{app}` kept changing while functions were loaded for the delete; nothing was deleted");
    Err(Refusal::new(Code::HeadMoved, message).next(Next::Wait).into())
}

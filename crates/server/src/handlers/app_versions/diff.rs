use axum::Json;
use milepost_client::api::Diff;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::content::trees;
use crate::edge::extract::{Path, Query};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Sides {
    /// An app version, release, tag, `live`, `latest` or `head`.
    from: String,
    to: String,
    /// If `true`, includes line diffs of text files: of at most 200 files and 1 MiB in total, and
    /// of files up to 256 KiB. `textOmitted` gives the reason for files without one.
    #[serde(default)]
    text: bool,
}

/// Compare two app versions or releases
#[utoipa::path(get, path = "/apps/{app}/diff", tag = "app versions", params(("app" = String, Path, description = "Name of the app"), Sides), responses((status = 200, body = Diff)))]
pub(crate) async fn app_versions_diff(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(query): Query<Sides>,
) -> ApiResult<Json<Diff>> {
    let app = caller.on(&app)?;
    let (from, before, mut gone) = store.catalog.app_version_contents(&app, query.from).await?;
    let (to, after, more_gone) = store.catalog.app_version_contents(&app, query.to).await?;
    gone.extend(more_gone);
    let mut changes = wire::whole_diff(&before, &after);
    // A version missing on one side would look like an addition or a removal.
    changes.retain(|change| gone.iter().all(|(key, _)| key.kind != change.kind || key.name != change.name));
    for change in &mut changes {
        trees::explain(&store, &mut change.reasons).await?;
    }
    if query.text {
        trees::add_texts(&store, &mut changes).await?;
    }
    let gone = gone.iter().map(wire::deleted_version).collect();
    Ok(Json(Diff { from, to, changes, gone }))
}

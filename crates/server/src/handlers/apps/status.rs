use axum::Json;
use milepost_client::api::{AppStatus, AppUrls, FunctionStatus, RecentError};
use milepost_runtime::PoolStatus;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Show what is live, and what runs on this node
#[utoipa::path(get, path = "/apps/{app}/status", tag = "apps", params(("app" = String, Path, description = "Name of the app")), responses((status = 200, body = AppStatus)))]
pub(crate) async fn apps_status(caller: Caller, state: Shared, Path(app): Path<String>) -> ApiResult<Json<AppStatus>> {
    let app = caller.on(&app)?;
    let found = state.catalog.app_get(&app).await?;
    let latest = state.catalog.release_get(&app, "latest".to_owned()).await.ok();
    let urls = AppUrls {
        live: found.live.release.is_some().then(|| state.urls.live(&app)),
        latest: latest.is_some().then(|| state.urls.release(&app, "latest")),
    };
    Ok(Json(AppStatus {
        app: app.to_string(),
        live: found.live.with_urls(&state.urls, &app),
        latest: latest.map(|release| release.with_urls(&state.urls, &app)),
        urls,
        functions: by_version(state.plane.runtime.status(&app)),
    }))
}

/// Merges the pools of each version. Releases that bind a version to other settings have separate
/// pools, which look the same here.
fn by_version(pools: Vec<PoolStatus>) -> Vec<FunctionStatus> {
    let mut versions: Vec<FunctionStatus> = Vec::new();
    for pool in pools.into_iter().map(function) {
        match versions.iter_mut().find(|known| (&known.name, known.number) == (&pool.name, pool.number)) {
            Some(known) => {
                known.instances += pool.instances;
                known.busy += pool.busy;
                known.queued += pool.queued;
                known.requests += pool.requests;
                known.errors += pool.errors;
                known.recent_errors.extend(pool.recent_errors);
                known.recent_errors.sort_by_key(|error| error.at);
            }
            None => versions.push(pool),
        }
    }
    versions
}

fn function(pool: PoolStatus) -> FunctionStatus {
    FunctionStatus {
        name: pool.function.to_string(),
        number: pool.number,
        uid: pool.uid,
        instances: pool.instances as u64,
        busy: pool.busy as u64,
        queued: pool.queued as u64,
        requests: pool.calls,
        errors: pool.errors,
        recent_errors: pool
            .recent_errors
            .into_iter()
            .map(|error| RecentError { at: error.at, request: error.request.into(), message: error.message })
            .collect(),
    }
}

use axum::Json;
use milepost_client::api::AtMoment;
use milepost_model::{Code, Refusal};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::edge::extract::{Path, Query};
use crate::error::ApiResult;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct At {
    /// A time, such as `2026-11-10T12:00:00Z`.
    time: String,
}

/// Show the exact versions that were live at a time
#[utoipa::path(get, path = "/apps/{app}/at", tag = "history", params(("app" = String, Path, description = "Name of the app"), At), responses((status = 200, body = AtMoment)))]
pub(crate) async fn apps_at(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Query(query): Query<At>,
) -> ApiResult<Json<AtMoment>> {
    let app = caller.on(&app)?;
    let at = query.time.parse().map_err(|_| {
        Refusal::new(Code::InvalidTime, format!("`{}` is not a time", query.time))
            .correct("write it like `2026-11-10T12:00:00Z`")
    })?;
    let found = state.catalog.at(&app, at).await?;
    Ok(Json(AtMoment {
        at: found.at,
        release: found.release.with_urls(&state.urls, &app),
        app_version: found.app_version,
        live_since: found.live_since,
        objects: found.objects,
        aliases: found.aliases,
    }))
}

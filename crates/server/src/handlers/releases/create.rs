use axum::Json;
use axum::http::StatusCode;
use milepost_catalog::Checking;
use milepost_client::api::{NewRelease, Released};
use milepost_model::Warning;
use milepost_model::release::LiveMode;

use crate::auth::Caller;
use crate::checks;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::phrase;
use crate::serving::urls::WithUrls;
use crate::state::Shared;

/// Release an app version under a new id, even if its last release has expired
#[utoipa::path(post, path = "/apps/{app}/releases", tag = "releases", params(("app" = String, Path, description = "Name of the app")), request_body = NewRelease, responses((status = 201, body = Released)))]
pub(crate) async fn releases_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<NewRelease>,
) -> ApiResult<(StatusCode, Json<Released>)> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let (asked, holder) = state.checks.asked();
    let checking = if body.check { asked } else { Checking::Skipped };
    let (version, why) = (body.app_version, body.why);
    let made = state.catalog.release_create_checked(&app, caller.name(), version, why, checking).await?;
    let (release, expired) = state.apply(made).await;
    let (release, expired) = checks::released(&state, &app, release, expired, holder).await?;
    let mut notices = Vec::new();
    // The release is made, so a warning that cannot be determined is left out.
    let live = state.catalog.app_get(&app).await.ok().map(|app| app.live);
    if let Some(live) = live.filter(|live| live.mode == LiveMode::Pinned && !release.check.state.holds_back()) {
        let live = live.release.map(|release| release.id);
        notices.push(Warning::NewReleaseNotLive { live, release: release.id.clone(), planned: false });
    }
    Ok((
        StatusCode::CREATED,
        Json(Released {
            release: release.with_urls(&state.urls, &app),
            expired,
            warnings: phrase::warnings(&notices),
            notices,
        }),
    ))
}

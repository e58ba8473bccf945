use axum::Json;
use axum::body::Body;
use milepost_model::install::{Installed, UpgradeFromBundle};

use super::{framed, to_its_end};
use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::installs::{self, Bundled};
use crate::state::Shared;

/// Upgrade an installed app from a bundle: the length of the JSON request (8 bytes, little endian)
/// and the request, followed by the artifact
#[utoipa::path(post, path = "/apps/{app}/upgrade/bundle", tag = "installs", params(("app" = String, Path, description = "Name of the app")), request_body(content = UpgradeFromBundle, content_type = "application/vnd.milepost.install.v1"), responses((status = 200, body = Installed)))]
pub(crate) async fn upgrade_bundle(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    body: Body,
) -> ApiResult<Json<Installed>> {
    let app = caller.on(&app)?;
    let (asked, artifact) = framed::read::<UpgradeFromBundle>(body).await?;
    let UpgradeFromBundle { package, channel, entry, serial, upgrade } = asked;
    let state = state.0;
    let bundled = Bundled { package, channel, entry, serial, artifact };
    let upgraded = to_its_end(async move {
        Box::pin(installs::upgrade_from_bundle(&state, &app, caller.name(), upgrade, bundled)).await
    });
    Ok(Json(upgraded.await?))
}

use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use milepost_model::install::{InstallFrom, Installed, NewInstall};
use milepost_model::{Code, Refusal};

use super::{framed, to_its_end};
use crate::auth::Caller;
use crate::error::ApiResult;
use crate::installs::{self, Bundled};
use crate::state::Shared;

/// Install an app from a bundle: the length of the JSON request (8 bytes, little endian) and the
/// request, followed by the artifact
#[utoipa::path(post, path = "/installs/bundle", tag = "installs", request_body(content = NewInstall, content_type = "application/vnd.milepost.install.v1"), responses((status = 201, body = Installed)))]
pub(crate) async fn installs_bundle(
    caller: Caller,
    state: Shared,
    body: Body,
) -> ApiResult<(StatusCode, Json<Installed>)> {
    installs::may_install(&caller)?;
    let (new, artifact) = framed::read::<NewInstall>(body).await?;
    let InstallFrom::Bundle { package, channel, entry, serial } = new.from.clone() else {
        return Err(Refusal::new(Code::InvalidRequest, "this call is for bundles")
            .correct("send it to `/installs`")
            .into());
    };
    let state = state.0;
    let bundled = Bundled { package, channel, entry, serial, artifact };
    let installed =
        to_its_end(async move { Box::pin(installs::create_from_bundle(&state, &caller, new, bundled)).await }).await?;
    Ok((StatusCode::CREATED, Json(installed)))
}

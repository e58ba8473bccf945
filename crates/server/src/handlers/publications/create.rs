use axum::http::StatusCode;
use milepost_model::channel::Publication;
use milepost_model::{Code, Refusal};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::error::ApiResult;
use crate::state::Shared;

/// Far longer than any channel URL.
const LONGEST: usize = 2000;

/// Record in the log of an app that a version was published or unpublished
///
/// Sent by `milepost publish` and `milepost unpublish` when they are done, because the channel may
/// be somewhere this server never looks. The channel itself decides what is published.
#[utoipa::path(post, path = "/apps/{app}/publications", tag = "app versions", params(("app" = String, Path, description = "Name of the app")), request_body = Publication, responses((status = 204, description = "Written")))]
pub(crate) async fn publications_create(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<Publication>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let told = sent.read().await?;
    let words = format!("{}{}", told.place, told.app_version.as_deref().unwrap_or_default());
    if words.len() > LONGEST || words.contains(char::is_control) {
        let message = "the place of the channel or the app version is too long or has control characters";
        return Err(Refusal::new(Code::InvalidRequest, message).correct("send the address of the channel").into());
    }
    state.apply(state.catalog.record_publication(&app, caller.name(), told).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

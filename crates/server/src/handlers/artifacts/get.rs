use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use milepost_client::api::{APP_VERSION_HEADER, NOTE_HEADER};
use milepost_model::channel::artifact::MEDIA_TYPE;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::content::artifacts;
use crate::edge::extract::{Path, Query};
use crate::error::ApiResult;
use crate::state::Stored;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// A uid, number, release, tag, `live`, `latest` or `head`. Defaults to `live`.
    version: Option<String>,
}

/// Download an app version as a single file that can be installed elsewhere
///
/// The same app version always gives the same bytes. They do not contain secret values.
#[utoipa::path(get, path = "/apps/{app}/artifact", tag = "app versions", params(("app" = String, Path, description = "Name of the app"), Which), responses((status = 200, description = "The artifact", content_type = "application/vnd.milepost.app.v1")))]
pub(crate) async fn artifacts_get(
    caller: Caller,
    store: Stored,
    Path(app): Path<String>,
    Query(query): Query<Which>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let made = artifacts::make(&store, &app, query.version).await?;
    let mut response = Body::from_stream(made.bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(made.size));
    if let Ok(id) = HeaderValue::from_str(&made.app_version.id) {
        headers.insert(HeaderName::from_static(APP_VERSION_HEADER), id);
    }
    for note in made.notes.iter().filter_map(|note| HeaderValue::from_str(note).ok()) {
        headers.append(HeaderName::from_static(NOTE_HEADER), note);
    }
    Ok(response)
}

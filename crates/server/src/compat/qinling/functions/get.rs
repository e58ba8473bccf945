use axum::Json;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use milepost_model::UnitKind;

use super::{code, head, shown};
use crate::compat::qinling::fault::V1Result;
use crate::compat::qinling::fields::is_true;
use crate::compat::qinling::names::{self, Path};
use crate::compat::qinling::project::Project;
use crate::state::Shared;

/// Shows the function, or downloads its newest code with `download`.
pub(crate) async fn get(project: Project, state: Shared, Path(id): Path<String>, uri: Uri) -> V1Result<Response> {
    project.may()?;
    let unit = names::unit(&state, &project, UnitKind::Function, &id).await?;
    if wants_download(&uri) {
        return code::download(&state, &unit.app, &head(&state, &unit).await?, unit.name.as_str()).await;
    }
    Ok(Json(shown(&state, &unit).await?).into_response())
}

pub(crate) fn wants_download(uri: &Uri) -> bool {
    let mut pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.any(|(name, value)| name == "download" && is_true(&value) == Some(true))
}

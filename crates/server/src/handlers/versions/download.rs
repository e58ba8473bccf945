use axum::response::Response;
use milepost_model::{Code, Digest, Refusal, Selector, UnitKind};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::content::archive;
use crate::edge::extract::{Path, Query, unit_key};
use crate::error::ApiResult;
use crate::state::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// `source` or `deployment`. Defaults to what runs.
    part: Option<String>,
}

/// Download the files of a function, package or static version as a zip
#[utoipa::path(get, path = "/apps/{app}/units/{kind}/{name}/versions/{selector}/download", tag = "versions", params(("app" = String, Path, description = "Name of the app"), ("kind" = String, Path, description = "Kind of unit"), ("name" = String, Path, description = "Name of the unit"), ("selector" = String, Path, description = "`latest`, a number, a uid, a label, `@alias` or `sha256:…`"), Part), responses((status = 200, description = "application/zip", content_type = "application/zip")))]
pub(crate) async fn versions_download(
    caller: Caller,
    state: Shared,
    Path((app, kind, name, selector)): Path<(String, String, String, String)>,
    Query(query): Query<Part>,
) -> ApiResult<Response> {
    let app = caller.on(&app)?;
    let selector: Selector = selector.parse().map_err(Refusal::from)?;
    let mut version = state.catalog.version_get(&app, unit_key(&kind, &name)?, selector).await?;
    if let (UnitKind::Function, Some(package)) = (version.kind, version.spec.get("package")) {
        let of = package["name"].as_str().unwrap_or_default();
        let number = package["number"].as_i64().unwrap_or_default();
        version = state.catalog.version_get(&app, unit_key("package", of)?, Selector::Number(number)).await?;
    }
    let fields: &[&str] = match query.part.as_deref() {
        Some("source") => &["source"],
        Some("deployment") => &["deployment"],
        Some(other) => {
            return Err(Refusal::new(Code::InvalidRequest, format!("unknown part `{other}`"))
                .correct("ask for `source` or `deployment`")
                .into());
        }
        None => &["deployment", "source", "tree"],
    };
    let digest = fields.iter().find_map(|field| version.spec.get(field)?.as_str()?.parse::<Digest>().ok());
    match digest {
        Some(digest) => archive::zip_response(&state.content, digest, &name).await,
        None => Err(Refusal::new(
            Code::BlobNotFound,
            format!("version {} of {kind} `{name}` has no such files", version.number),
        )
        .correct("ask for the other part, or leave `part` out")
        .into()),
    }
}

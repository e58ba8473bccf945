use axum::Json;
use milepost_client::api::KeptBy;

use crate::auth::Caller;
use crate::edge::extract::{self, Path};
use crate::error::ApiResult;
use crate::state::Stored;

/// Show what keeps a blob from being swept
#[utoipa::path(get, path = "/storage/why/{digest}", tag = "storage", params(("digest" = String, Path, description = "`sha256:…`")), responses((status = 200, body = KeptBy)))]
pub(crate) async fn storage_why(caller: Caller, store: Stored, Path(digest): Path<String>) -> ApiResult<Json<KeptBy>> {
    caller.everywhere()?;
    let digest = extract::digest(&digest)?;
    Ok(Json(KeptBy { digest, kept_by: store.catalog.storage_why(digest).await? }))
}

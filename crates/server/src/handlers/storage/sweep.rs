use axum::Json;
use milepost_client::api::Swept;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::Shared;
use crate::upkeep::sweep;

/// Remove unreferenced content now
#[utoipa::path(post, path = "/storage/sweep", tag = "storage", responses((status = 200, body = Swept)))]
pub(crate) async fn storage_sweep(caller: Caller, state: Shared) -> ApiResult<Json<Swept>> {
    caller.everywhere()?;
    Ok(Json(sweep::run(&state).await?))
}

use axum::Json;
use milepost_client::api::Swept;
use milepost_model::Permission;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::handlers::Shared;
use crate::upkeep::sweep;

/// Remove unreferenced content now
#[utoipa::path(post, path = "/storage/sweep", tag = "storage", responses((status = 200, body = Swept)))]
pub(crate) async fn storage_sweep(caller: Caller, state: Shared) -> ApiResult<Json<Swept>> {
    caller.may_everywhere(Permission::Administer)?;
    Ok(Json(sweep::run(&state).await?))
}

use axum::Json;
use milepost_model::PlanName;
use milepost_model::quota::Limits;

use crate::auth::Caller;
use crate::error::ApiResult;

/// List plans and their limits
#[utoipa::path(get, path = "/plans", tag = "plans", responses((status = 200, body = Vec<Limits>)))]
pub(crate) async fn plans_list(_caller: Caller) -> ApiResult<Json<Vec<Limits>>> {
    Ok(Json(PlanName::ALL.map(PlanName::limits).to_vec()))
}

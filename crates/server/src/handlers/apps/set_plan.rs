use crate::auth::Caller;
use crate::error::ApiResult;
use crate::extract::{Json as Body, Path};
use crate::handlers::Shared;
use crate::handlers::wire;
use axum::Json;
use milepost_client::api::{PlanChanged, SetPlan};
use milepost_model::Permission;

/// Move an app to a plan
#[utoipa::path(put, path = "/apps/{app}/plan", tag = "apps", params(("app" = String, Path, description = "Name of the app")), request_body = SetPlan, responses((status = 200, body = PlanChanged)))]
pub(crate) async fn apps_set_plan(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    Body(body): Body<SetPlan>,
) -> ApiResult<Json<PlanChanged>> {
    caller.may_everywhere(Permission::Administer)?;
    let app = caller.may(Permission::Administer, &app)?;
    let before = state.catalog.app_get(&app).await?;
    let after = state.catalog.app_set_plan(&app, body.plan, caller.name()).await?;
    let bound = |plan: milepost_model::PlanName| plan.limits().active_releases.unwrap_or(u32::MAX);
    let mut warnings = Vec::new();
    if bound(after.plan) < bound(before.plan) {
        warnings.push(format!(
            "the plan allows {} active releases; it takes effect with the next release",
            bound(after.plan)
        ));
    }
    Ok(Json(PlanChanged { app: wire::app(after), warnings }))
}

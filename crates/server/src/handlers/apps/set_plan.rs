use axum::Json;
use milepost_client::api::{PlanChanged, SetPlan};
use milepost_model::{Code, Refusal, Warning};

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::phrase;
use crate::state::Shared;

/// Change the plan of an app
#[utoipa::path(put, path = "/apps/{app}/plan", tag = "apps", params(("app" = String, Path, description = "Name of the app")), request_body = SetPlan, responses((status = 200, body = PlanChanged)))]
pub(crate) async fn apps_set_plan(
    caller: Caller,
    state: Shared,
    Path(app): Path<String>,
    sent: Body<SetPlan>,
) -> ApiResult<Json<PlanChanged>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    if let Some(only) = &caller.row().app {
        // A plan limits what an app may take from all others, so an app must not choose its own.
        let message =
            format!("token `{}` has access to app `{only}` only, and no app may choose its own plan", caller.name());
        let hint = "ask an administrator with a token for all apps";
        return Err(Refusal::new(Code::Forbidden, message).correct(hint).into());
    }
    let after = state.apply(state.catalog.app_set_plan(&app, body.plan, caller.name()).await?).await;
    let mut notices = Vec::new();
    if let Some(bound) = after.plan.limits().active_releases {
        let page = milepost_catalog::Page { below: None, limit: i64::from(bound) };
        // The plan is set, so a warning that cannot be determined is left out.
        if state.catalog.release_list(&app, true, page).await.is_ok_and(|page| page.next.is_some()) {
            notices.push(Warning::MoreReleasesThanPlan { bound: u64::from(bound) });
        }
    }
    Ok(Json(PlanChanged { app: wire::app(after, &state.urls), warnings: phrase::warnings(&notices), notices }))
}

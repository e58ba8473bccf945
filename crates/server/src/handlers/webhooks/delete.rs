use axum::http::StatusCode;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete a webhook, but keep its executions
#[utoipa::path(delete, path = "/apps/{app}/webhooks/{webhook}", tag = "webhooks", params(("app" = String, Path, description = "Name of the app"), ("webhook" = String, Path, description = "Id of the webhook")), responses((status = 204, description = "Done")))]
pub(crate) async fn webhooks_delete(
    caller: Caller,
    state: Shared,
    Path((app, webhook)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    state.apply(state.catalog.webhook_delete(&app, caller.name(), webhook).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

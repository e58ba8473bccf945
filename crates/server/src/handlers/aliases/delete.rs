use axum::http::StatusCode;
use milepost_model::Refusal;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete an alias without deleting its version
#[utoipa::path(delete, path = "/apps/{app}/functions/{function}/aliases/{alias}", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function"), ("alias" = String, Path, description = "Name of the alias")), responses((status = 204, description = "Done")))]
pub(crate) async fn aliases_delete(
    caller: Caller,
    state: Shared,
    Path((app, function, alias)): Path<(String, String, String)>,
) -> ApiResult<StatusCode> {
    let app = caller.on(&app)?;
    let (function, alias) = (wire::function(&function)?, alias.parse().map_err(Refusal::from)?);
    state.apply(state.catalog.alias_delete(&app, caller.name(), function, alias).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

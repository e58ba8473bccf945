use axum::Json;
use milepost_client::api::Why;
use milepost_model::Refusal;
use milepost_model::pointer::Alias;

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Move an alias back to its previous version
#[utoipa::path(post, path = "/apps/{app}/functions/{function}/aliases/{alias}/rollback", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function"), ("alias" = String, Path, description = "Name of the alias")), request_body = Why, responses((status = 200, body = Alias)))]
pub(crate) async fn aliases_rollback(
    caller: Caller,
    state: Shared,
    Path((app, function, alias)): Path<(String, String, String)>,
    sent: Body<Why>,
) -> ApiResult<Json<Alias>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let alias = alias.parse().map_err(Refusal::from)?;
    let moved = state.catalog.alias_rollback(&app, caller.name(), wire::function(&function)?, alias, body.why).await?;
    Ok(Json(state.apply(moved).await))
}

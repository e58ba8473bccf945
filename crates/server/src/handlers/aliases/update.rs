use axum::Json;
use milepost_client::api::SetAlias;
use milepost_model::Refusal;
use milepost_model::pointer::Alias;

use crate::auth::Caller;
use crate::edge::extract::{Json as Body, Path};
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Point an existing alias at another version
#[utoipa::path(put, path = "/apps/{app}/functions/{function}/aliases/{alias}", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function"), ("alias" = String, Path, description = "Name of the alias")), request_body = SetAlias, responses((status = 200, body = Alias)))]
pub(crate) async fn aliases_update(
    caller: Caller,
    state: Shared,
    Path((app, function, alias)): Path<(String, String, String)>,
    sent: Body<SetAlias>,
) -> ApiResult<Json<Alias>> {
    let app = caller.on(&app)?;
    let body = sent.read().await?;
    let alias = alias.parse().map_err(Refusal::from)?;
    let new = milepost_catalog::SetAlias {
        function: wire::function(&function)?,
        alias,
        selector: body.version,
        existing: true,
        why: body.why,
    };
    let moved = state.catalog.alias_set(&app, caller.name(), new).await?;
    Ok(Json(state.apply(moved).await))
}

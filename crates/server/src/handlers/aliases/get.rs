use axum::Json;
use milepost_model::Refusal;
use milepost_model::pointer::Alias;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

/// Show an alias
#[utoipa::path(get, path = "/apps/{app}/functions/{function}/aliases/{alias}", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function"), ("alias" = String, Path, description = "Name of the alias")), responses((status = 200, body = Alias)))]
pub(crate) async fn aliases_get(
    caller: Caller,
    store: Stored,
    Path((app, function, alias)): Path<(String, String, String)>,
) -> ApiResult<Json<Alias>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.alias_get(&app, wire::function(&function)?, alias.parse().map_err(Refusal::from)?).await?))
}

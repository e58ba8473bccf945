use axum::Json;
use milepost_model::pointer::Alias;

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

/// List the aliases of a function
#[utoipa::path(get, path = "/apps/{app}/functions/{function}/aliases", tag = "aliases", params(("app" = String, Path, description = "Name of the app"), ("function" = String, Path, description = "Name of the function")), responses((status = 200, body = Vec<Alias>)))]
pub(crate) async fn aliases_list(
    caller: Caller,
    store: Stored,
    Path((app, function)): Path<(String, String)>,
) -> ApiResult<Json<Vec<Alias>>> {
    let app = caller.on(&app)?;
    Ok(Json(store.catalog.alias_list(&app, wire::function(&function)?).await?))
}

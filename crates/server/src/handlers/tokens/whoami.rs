use axum::Json;
use milepost_client::api::WhoAmI;

use crate::auth::Caller;
use crate::error::ApiResult;

/// Show the token of this request
#[utoipa::path(get, path = "/whoami", tag = "tokens", responses((status = 200, body = WhoAmI)))]
pub(crate) async fn tokens_whoami(caller: Caller) -> ApiResult<Json<WhoAmI>> {
    let row = caller.row();
    let server = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(WhoAmI { name: row.name.clone(), role: row.role, app: row.app.clone(), server }))
}

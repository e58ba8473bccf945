use axum::Json;
use milepost_client::api::Token;

use crate::auth::Caller;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Stored;

/// List tokens
#[utoipa::path(get, path = "/tokens", tag = "tokens", responses((status = 200, body = Vec<Token>)))]
pub(crate) async fn tokens_list(caller: Caller, store: Stored) -> ApiResult<Json<Vec<Token>>> {
    caller.everywhere()?;
    let tokens = store.catalog.token_list().await?;
    Ok(Json(tokens.into_iter().map(|row| wire::token(row, None)).collect()))
}

use axum::http::StatusCode;
use milepost_model::{Code, Refusal};

use crate::auth::Caller;
use crate::edge::extract::Path;
use crate::error::ApiResult;
use crate::state::Shared;

/// Delete a token
#[utoipa::path(delete, path = "/tokens/{token}", tag = "tokens", params(("token" = String, Path, description = "Name of the token")), responses((status = 204, description = "Done")))]
pub(crate) async fn tokens_delete(caller: Caller, state: Shared, Path(token): Path<String>) -> ApiResult<StatusCode> {
    caller.everywhere()?;
    if token == caller.name() {
        return Err(Refusal::new(Code::InUse, format!("`{token}` is the token of this request"))
            .correct("delete it with another admin token")
            .into());
    }
    state.apply(state.catalog.token_delete(token).await?).await;
    Ok(StatusCode::NO_CONTENT)
}

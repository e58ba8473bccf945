use axum::Json;
use axum::http::StatusCode;
use milepost_client::api::{NewToken, Token};
use milepost_model::{GroupName, OsIds, Refusal};

use crate::auth::{self, Caller};
use crate::edge::extract::Json as Body;
use crate::edge::wire;
use crate::error::ApiResult;
use crate::state::Shared;

/// Create a token, which is shown only once
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = NewToken, responses((status = 201, body = Token)))]
pub(crate) async fn tokens_create(
    caller: Caller,
    state: Shared,
    sent: Body<NewToken>,
) -> ApiResult<(StatusCode, Json<Token>)> {
    caller.everywhere()?;
    let body = sent.read().await?;
    body.name
        .parse::<GroupName>()
        .map_err(|error| Refusal::from(milepost_model::NameError { what: "token", ..error }))?;
    let token = auth::make_token(&OsIds);
    let made = state.catalog.token_create(body.name, auth::hash(&token), body.role, body.app, caller.name()).await?;
    let row = state.apply(made).await;
    Ok((StatusCode::CREATED, Json(wire::token(row, Some(token)))))
}

use axum::Json;
use milepost_model::Permission;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::handlers::Shared;

/// Far more files than any author has.
const MOST: usize = 200_000;

/// The lists of all channels that this server keeps. The files are for everybody who knows their names; the names are for those
/// with a token.
pub(crate) async fn channels_list(caller: Caller, state: Shared) -> ApiResult<Json<Vec<String>>> {
    caller.may_everywhere(Permission::Read)?;
    let mut names = state.channels.list(MOST).await?;
    names.retain(|name| name.ends_with("/all"));
    Ok(Json(names))
}

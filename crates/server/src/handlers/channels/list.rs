use axum::Json;

use crate::auth::Caller;
use crate::error::ApiResult;
use crate::state::Shared;

/// Far more files than any author has.
const MOST: usize = 200_000;

/// Lists the index files of all channels hosted by this server. The files are public to callers who
/// know their names, but listing the names requires a token.
pub(crate) async fn channels_list(caller: Caller, state: Shared) -> ApiResult<Json<Vec<String>>> {
    caller.everywhere()?;
    let mut names = state.content.channels.list(MOST).await?;
    names.retain(|name| name.ends_with("/all"));
    Ok(Json(names))
}

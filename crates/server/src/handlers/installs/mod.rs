pub(crate) mod bundle;
pub(crate) mod change;
pub(crate) mod create;
pub(crate) mod detach;
mod framed;
pub(crate) mod get;
pub(crate) mod hold;
pub(crate) mod lift;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod upgrade;
pub(crate) mod upgrade_bundle;

use crate::error::{ApiResult, internal};

/// Runs the work to its end even if the client disconnects: an abandoned upgrade would keep its
/// lease until that expires.
async fn to_its_end<T: Send + 'static>(work: impl Future<Output = ApiResult<T>> + Send + 'static) -> ApiResult<T> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(internal(&error)),
    }
}

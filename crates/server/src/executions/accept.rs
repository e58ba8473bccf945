//! Accepts executions for callers that may disconnect.

use milepost_catalog::Accept;
use milepost_model::AppName;
use milepost_model::execution::Execution;
use tokio::task::JoinHandle;

use super::attempt::{self, Over};
use crate::error::{ApiResult, internal};
use crate::state::State;

pub(crate) enum Accepted {
    /// Queued, or what an earlier request with the same key made.
    Queued(Box<Execution>),
    /// A synchronous execution: its id, and how its only attempt ended.
    Ran(String, Over),
}

/// Records an execution and starts it, in a separate task. A synchronous execution runs on this
/// node from the commit on, so a caller that disconnects between commit and start must not cancel
/// the start.
pub(crate) fn accept(state: &State, app: AppName, accept: Accept) -> JoinHandle<ApiResult<Accepted>> {
    let state = state.clone();
    state.executions.tasks.clone().spawn(async move {
        let claimed = state.catalog.execution_accept(&app, accept).await?;
        if claimed.attempt == 0 {
            state.executions.wake_worker();
            return Ok(Accepted::Queued(Box::new(claimed.execution)));
        }
        let id = claimed.execution.id.clone();
        let over = attempt::start(&state, claimed, None).await.map_err(|error| internal(&error))?;
        Ok(Accepted::Ran(id, over))
    })
}

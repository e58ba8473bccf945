//! Accepting an execution on behalf of somebody who may hang up meanwhile.

use milepost_catalog::Accept;
use milepost_model::AppName;
use milepost_model::execution::Execution;
use tokio::task::JoinHandle;

use super::attempt::{self, Over};
use crate::error::{ApiResult, internal};
use crate::state::State;

/// What became of an execution that was accepted.
pub(crate) enum Accepted {
    Queued(Box<Execution>),
    /// It was synchronous: its id, and how the only attempt was over.
    Ran(String, Over),
}

/// Writes an execution down and sees to it that it runs, as a task of its own. A synchronous one runs on this node from
/// the commit on, so nobody who leaves between the commit and the start may take the start along.
pub(crate) fn accept(state: &State, app: AppName, accept: Accept) -> JoinHandle<ApiResult<Accepted>> {
    let state = state.clone();
    state.executions.tasks.clone().spawn(async move {
        let claimed = state.catalog.execution_accept(&app, accept).await?;
        if !claimed.execution.sync {
            state.executions.wake_worker();
            return Ok(Accepted::Queued(Box::new(claimed.execution)));
        }
        let id = claimed.execution.id.clone();
        let over = attempt::start(&state, claimed, None).await.map_err(|error| internal(&error))?;
        Ok(Accepted::Ran(id, over))
    })
}

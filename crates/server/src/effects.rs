//! Applies what a write changed, before it is answered (`docs/decisions/015-effects-of-writes.md`).

use milepost_catalog::{Effects, Written};

use crate::error::ApiResult;
use crate::state::State;

impl State {
    /// Applies the effects of a write, and returns its result. Once this returns, the next request
    /// sees the write.
    pub(crate) async fn apply<T>(&self, written: Written<T>) -> T {
        let (value, effects) = written.split();
        apply(self, effects).await;
        value
    }
}

/// Does not fail, because the write has happened: what is not applied now is repaired by polling.
pub(crate) async fn apply(state: &State, effects: Effects) {
    if effects.timers {
        state.executions.wake_scheduler();
    }
    if effects.installs {
        state.installs.wake();
    }
    // Boxed, because every handler that writes holds this future.
    if let Err(error) = Box::pin(show(state, &effects)).await {
        tracing::warn!(message = %error.0, "a change is made, but this node shows it only when the database responds again");
    }
}

async fn show(state: &State, effects: &Effects) -> ApiResult<()> {
    if effects.tokens {
        state.plane.tokens.refresh(&state.catalog).await?;
    }
    match &effects.app {
        Some(app) if effects.serving => state.views.refresh(app).await,
        _ => Ok(()),
    }
}

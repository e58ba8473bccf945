//! Finds attempts that are recorded as held by this node but do not run here: the response to a
//! committed claim or acceptance was lost. No other node recovers them, because this one is alive.

use std::collections::HashSet;

use milepost_catalog::CatalogError;
use milepost_model::execution::MAX_ATTEMPTS;

use crate::state::State;

/// More recent attempts may still be on their way to this node.
const YOUNG_MS: i64 = 10_000;

/// Attempts that were missing at the last check.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    suspects: HashSet<(String, i64)>,
}

impl Orphans {
    /// Gives back attempts that are missing for the second time in a row.
    pub async fn look(&mut self, state: &State) -> Result<(), CatalogError> {
        let node = state.executions.node();
        let mut held = state.catalog.executions_held(node, YOUNG_MS).await?;
        {
            let running = state.executions.lock();
            held.retain(|attempt| !running.contains_key(attempt));
        }
        let missing: HashSet<_> = held.into_iter().collect();
        let before = std::mem::replace(&mut self.suspects, missing.clone());
        for (id, attempt) in missing.intersection(&before) {
            let found = state.catalog.give_back_attempt(id.clone(), node, *attempt, MAX_ATTEMPTS).await?;
            if found.requeued + found.ended > 0 {
                tracing::warn!(execution = id, attempt, found.requeued, "an execution of this node was not here");
            }
        }
        Ok(())
    }
}

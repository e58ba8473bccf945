//! What runs on this node by the book and is not here: a claim or an acceptance whose answer never came, although it was
//! committed. Nobody else gives it back, because this node lives.

use std::collections::HashSet;

use milepost_catalog::CatalogError;
use milepost_model::execution::MAX_ATTEMPTS;

use crate::state::State;

/// One that was begun this shortly ago may be on its way here.
const YOUNG_MS: i64 = 10_000;

/// Attempts that were missing when this node looked last.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    suspects: HashSet<(String, i64)>,
}

impl Orphans {
    /// Gives back what is missing for the second time in a row.
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

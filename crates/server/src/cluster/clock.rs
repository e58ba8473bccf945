//! How far this machine's clock is off. What is due is judged by the database's clock, but waits
//! and the expiry of tokens follow this one.

use milepost_catalog::Catalog;

use crate::state::State;

const REPORTED_MS: u64 = 2_000;
/// Beyond this, a node leaves jobs and timers to others.
const TRUSTED_MS: u64 = 30_000;

pub(crate) fn is_trusted(catalog: &Catalog) -> bool {
    catalog.clock_ahead_ms().unsigned_abs() <= TRUSTED_MS
}

/// What to report about the clock, if it is off.
pub(crate) fn remark(catalog: &Catalog) -> Option<String> {
    let ahead = catalog.clock_ahead_ms();
    let off = ahead.unsigned_abs();
    if off <= REPORTED_MS {
        return None;
    }
    let way = if ahead > 0 { "ahead of" } else { "behind" };
    let then = if off > TRUSTED_MS { "; jobs and timers are left to other nodes" } else { "" };
    Some(format!("the clock of this node is {}.{} s {way} the database's{then}", off / 1000, off % 1000 / 100))
}

/// Logs when the clock begins or ceases to be off.
#[derive(Debug, Default)]
pub(super) struct Reported {
    off: bool,
}

impl Reported {
    pub(super) fn look(&mut self, state: &State) {
        let remark = remark(&state.catalog);
        match &remark {
            Some(remark) if !self.off => tracing::warn!("{remark}; is its time synchronised?"),
            None if self.off => tracing::info!("the clock of this node agrees with the database's again"),
            _ => {}
        }
        self.off = remark.is_some();
    }
}

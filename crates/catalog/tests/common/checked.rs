//! Helpers for releases that are checked, with checks that end as the test decides.

use std::collections::HashMap;

use milepost_catalog::{CatalogError, CheckLease, Checking, Settled};
use milepost_model::ChangeOutcome;
use milepost_model::change::Change;
use milepost_model::check::{CheckState, FunctionCheck, LoadState};
use milepost_model::unit_put::Put;

use super::{Fixture, change, function_on, input, package};

/// Longer than any test runs.
pub const LONG_MS: i64 = 600_000;

pub fn by(holder: &str) -> Checking {
    Checking::By { holder: holder.to_owned(), lease_ms: LONG_MS }
}

impl Fixture {
    /// Sends a change whose release `holder` checks.
    pub async fn send_checked(&self, change: Change, holder: &str) -> Result<ChangeOutcome, CatalogError> {
        self.clock.advance_ms(1000);
        self.catalog.change_checked(&self.app, input(change), by(holder)).await
    }

    pub async fn put_checked(&self, puts: impl IntoIterator<Item = Put>, holder: &str) -> ChangeOutcome {
        self.send_checked(change(puts), holder).await.unwrap()
    }

    /// Deploys a new version of a function, whose release `holder` checks. Returns the release and
    /// its check state.
    pub async fn deploy_checked(&self, function: &str, code: &str, holder: &str) -> (String, CheckState) {
        let tree = self.tree(code).await;
        let outcome = self.put_checked([package(function, tree), function_on(function, function)], holder).await;
        let release = outcome.release.unwrap();
        assert_eq!(release.check, outcome.check);
        (release.id, outcome.check.state)
    }

    pub async fn take_check(&self, release: &str, holder: &str) -> Option<CheckLease> {
        self.catalog.check_take(&self.app, release, holder, LONG_MS).await.unwrap()
    }

    /// Returns the names and numbers of the functions that a check loads.
    pub async fn to_load(&self, lease: &CheckLease) -> Vec<String> {
        let found = self.catalog.check_functions(lease).await.unwrap().unwrap();
        found.functions.iter().map(|id| format!("{} {}", found.versions[id].name, found.versions[id].number)).collect()
    }

    /// Runs a check: `loads` decides by name and number which functions load.
    pub async fn settle_check(&self, lease: &CheckLease, loads: impl Fn(&str, i64) -> bool) -> Settled {
        let Some(wanted) = self.catalog.check_functions(lease).await.unwrap() else { return Settled::NotHeld };
        let mut found = HashMap::new();
        for id in &wanted.functions {
            let version = &wanted.versions[id];
            let well = loads(version.name.as_str(), version.number);
            let check = FunctionCheck {
                name: version.name.clone(),
                number: version.number,
                state: if well { LoadState::Ok } else { LoadState::Failed },
                reason: if well { String::new() } else { "it does not compile".to_owned() },
                log: Vec::new(),
            };
            found.insert(*id, check);
        }
        self.catalog.check_settle(lease, found).await.unwrap()
    }

    /// Runs the whole check of a release for the holder of its lease.
    pub async fn check(&self, release: &str, holder: &str, loads: bool) -> Settled {
        let lease = self.take_check(release, holder).await.unwrap();
        self.settle_check(&lease, |_, _| loads).await
    }
}

//! Finds work that an apply would overwrite: units that were last applied from a commit that the
//! local tree does not contain. Reported before anything is sent.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_model::ChangeOutcome;
use milepost_model::base::Base;
use milepost_model::change::{UnitAction, UnitKey};
use milepost_model::snapshot::AppVersion;

use super::git;
use crate::session::Session;

/// How many app versions are inspected. More would not make the warning more useful.
const MOST: usize = 20;

/// Units that an apply would overwrite.
#[derive(Debug, Clone, PartialEq)]
pub struct Overwritten {
    /// The app version that last changed them.
    pub by: AppVersion,
    /// The author of its commit, if git knows it.
    pub author: Option<String>,
    pub units: Vec<UnitKey>,
}

/// Groups the units that the plan would update or remove by the app version that last changed them,
/// and keeps those whose commit is not in the local tree.
pub async fn find(session: &Session<'_>, folder: &Path, plan: &ChangeOutcome, on: Base) -> Vec<Overwritten> {
    let touched = plan.versions.iter().filter(|unit| matches!(unit.action, UnitAction::Updated | UnitAction::Removed));
    let touched: Vec<UnitKey> = touched.map(|unit| UnitKey { kind: unit.kind, name: unit.name.clone() }).collect();
    if touched.is_empty() {
        return Vec::new();
    }
    let base = if on == Base::Live { "live" } else { "head" };
    // A missing warning is no reason to fail: the ledger keeps what is overwritten.
    let Ok(head) = session.client.app_version_get(session.app, base).await else { return Vec::new() };
    let mut by_maker: BTreeMap<String, Vec<UnitKey>> = BTreeMap::new();
    for object in &head.objects {
        let key = UnitKey { kind: object.kind, name: object.name.clone() };
        if touched.contains(&key) {
            by_maker.entry(object.version.clone()).or_default().push(key);
        }
    }
    let mut found = Vec::new();
    for (uid, units) in by_maker.into_iter().take(MOST) {
        let maker =
            if uid == head.id { Ok(head.clone()) } else { session.client.app_version_get(session.app, &uid).await };
        let Ok(maker) = maker else { continue };
        let Some(facts) = &maker.git else { continue };
        if !git::contains(folder, &facts.commit).await {
            let author = git::author(folder, &facts.commit).await;
            found.push(Overwritten { by: maker, author, units });
        }
    }
    found.sort_by_key(|overwritten| std::cmp::Reverse(overwritten.by.number));
    found
}

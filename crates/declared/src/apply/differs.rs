//! Compares a folder with any app version, as the plan of a deploy compares it with the newest one.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::change::{UnitAction, UnitKey};
use milepost_model::snapshot::AppVersion;
use milepost_model::{Digest, UnitKind};

use super::{Apply, ChangeOptions, Options, may_not_be_all};
use crate::Declared;
use crate::error::Result;
use crate::session::Session;

pub struct Compared {
    /// One line for each unit that differs.
    pub differences: Vec<String>,
    /// Whether a deploy of the folder would change nothing.
    pub is_head: bool,
}

/// Compares digests, so that any version can be compared. Secrets are left out, because a folder
/// has no values of them.
pub async fn compare(session: &Session<'_>, declared: &Declared, version: &AppVersion) -> Result<Compared> {
    let change = ChangeOptions { dry_run: true, ..ChangeOptions::default() };
    // Nothing is sent, so ownership and paths outside of the folder do not matter.
    let options = Options { change, allow_conflicts: true, allow_outside: true, ..Options::default() };
    let mut apply = Apply::begin(session, declared, &options).await?;
    let plan = match apply.plan().await {
        Err(error) if error.code().is_some_and(may_not_be_all) => return Err(apply.with_places(error).await),
        planned => planned?.1,
    };
    let mut rest: BTreeMap<UnitKey, Digest> = objects(version);
    let mut differences = Vec::new();
    for unit in plan.versions.iter().filter(|unit| unit.kind != UnitKind::Secret) {
        let key = UnitKey { kind: unit.kind, name: unit.name.clone() };
        let there = rest.remove(&key);
        match (unit.action, there) {
            (UnitAction::Removed, None) => {}
            (UnitAction::Removed, Some(_)) => differences.push(format!("{key} is no longer in the folder")),
            (_, None) => differences.push(format!("{key} is only in the folder")),
            (_, Some(digest)) if unit.digest == Some(digest) => {}
            (_, Some(_)) => differences.push(format!("{key} differs")),
        }
    }
    if !rest.is_empty() {
        // A deploy keeps units that the folder does not declare. Those that head lacks were removed
        // before, and are differences.
        let head = session.client.app_version_get(session.app, "head").await?;
        let head: BTreeSet<UnitKey> = objects(&head).into_keys().collect();
        differences
            .extend(rest.keys().filter(|key| !head.contains(key)).map(|key| format!("{key} is not in the folder")));
    }
    Ok(Compared { differences, is_head: !plan.changed })
}

fn objects(version: &AppVersion) -> BTreeMap<UnitKey, Digest> {
    let units = version.objects.iter().filter(|object| object.kind != UnitKind::Secret);
    units.map(|object| (UnitKey { kind: object.kind, name: object.name.clone() }, object.digest)).collect()
}

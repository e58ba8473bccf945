//! The parts of a plan that are made without the server.

use std::collections::BTreeMap;

use milepost_model::change::{Change, UnitAction, UnitKey, UnitOutcome};
use milepost_model::check::ReleaseCheck;
use milepost_model::{ChangeOutcome, plan::Reason};
use milepost_model::{UnitKind, UnitName};

use super::draft;
use super::environments::Environments;
use super::scan::Trees;
use crate::{Declared, Reference};

/// The build command of each package that has to be built. Packages without one run their source,
/// and are removed from the builds.
pub fn commands(
    plan: &mut ChangeOutcome,
    change: &Change,
    trees: &Trees,
    environments: &Environments,
) -> BTreeMap<UnitName, String> {
    let mut commands = BTreeMap::new();
    for name in &plan.builds {
        let Some((package, Some(source))) = draft::package(&change.puts, name) else { continue };
        let Some(scanned) = trees.with_root(source) else { continue };
        if let Some(command) = draft::command(package, environments, &scanned.source) {
            commands.insert(name.clone(), command);
        }
    }
    plan.builds.retain(|name| commands.contains_key(name));
    commands
}

/// The plan for an app that does not exist, made without the server.
pub fn all_new(declared: &Declared, change: &Change) -> ChangeOutcome {
    let created = |key: UnitKey| UnitOutcome {
        kind: key.kind,
        name: key.name,
        action: UnitAction::Created,
        number: Some(1),
        uid: None,
        label: None,
        digest: None,
        reasons: vec![Reason::New],
    };
    let mut keys: Vec<UnitKey> = declared.keys().collect();
    // The server creates the built-in environments that are used before these.
    let needs_one = |key: &UnitKey| matches!(key.kind, UnitKind::Package | UnitKind::Function);
    for Reference { key, .. } in &declared.references {
        if key.kind == UnitKind::Environment && !keys.contains(key) {
            let at = keys.iter().position(needs_one).unwrap_or(keys.len());
            keys.insert(at, key.clone());
        }
    }
    // A package with a deployment is not built.
    let is_source = |name: &UnitName| {
        let found = draft::package(&change.puts, name);
        found.is_some_and(|(package, source)| source.is_some() && package.deployment.is_none())
    };
    let packages = declared.keys().filter(|key| key.kind == UnitKind::Package);
    ChangeOutcome {
        changed: true,
        dry_run: true,
        app_version: None,
        versions: keys.into_iter().map(created).collect(),
        release: None,
        check: ReleaseCheck::default(),
        expired: Vec::new(),
        builds: packages.map(|key| key.name).filter(is_source).collect(),
        taken_over: Vec::new(),
        left_out: Vec::new(),
        hand_edits: Vec::new(),
        warnings: Vec::new(),
        notices: Vec::new(),
    }
}

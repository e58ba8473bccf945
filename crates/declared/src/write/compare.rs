//! Compares two readings: puts, and the digests of their trees.

use std::collections::HashMap;

use milepost_model::Digest;
use milepost_model::change::UnitKey;
use milepost_model::unit_put::{Put, UnitPut};

use super::super::{Declared, DeclaredUnit, FileSet};
use super::outline::Unsaid;
use crate::scanner::Scanner;

/// The root digests of all declared files. None for files that cannot be scanned.
pub async fn roots(scanner: &Scanner, declared: &Declared) -> HashMap<FileSet, Option<Digest>> {
    let mut found = HashMap::new();
    for (_, files) in declared.units.iter().flat_map(|unit| &unit.trees) {
        if !found.contains_key(files) {
            let root = scanner.files(files).await.ok().and_then(|source| source.root().ok());
            found.insert(files.clone(), root);
        }
    }
    found
}

/// What the second reading lacks or has differently.
pub async fn differences(
    scanner: &Scanner,
    meant: &Declared,
    meant_roots: &HashMap<FileSet, Option<Digest>>,
    read: &Declared,
) -> Vec<Unsaid> {
    let read_roots = roots(scanner, read).await;
    let mut found = Vec::new();
    for unit in &meant.units {
        let key = unit.key();
        match read.unit(key.kind, &key.name) {
            None => found.push(Unsaid { key, message: "it is not in the manifest".to_owned() }),
            Some(other) => {
                let roots = |unit: &DeclaredUnit, of: &HashMap<FileSet, Option<Digest>>| -> Vec<_> {
                    let mut roots: Vec<_> = unit
                        .trees
                        .iter()
                        .map(|(slot, files)| (format!("{slot:?}"), of.get(files).copied().flatten()))
                        .collect();
                    roots.sort_by(|one, other| one.0.cmp(&other.0));
                    roots
                };
                if plain(&unit.put) != plain(&other.put) {
                    found.push(Unsaid { key, message: "it differs in the manifest".to_owned() });
                } else if roots(unit, meant_roots) != roots(other, &read_roots) {
                    let message = "its files differ in the manifest".to_owned();
                    found.push(Unsaid { key, message });
                }
            }
        }
    }
    let unmeant = |key: &UnitKey| meant.unit(key.kind, &key.name).is_none();
    for key in read.keys().filter(unmeant) {
        found.push(Unsaid { key, message: "it is only in the manifest".to_owned() });
    }
    for key in meant.claims.iter().map(|claim| &claim.key) {
        if read.claims.iter().all(|claim| claim.key != *key) {
            found.push(Unsaid { key: key.clone(), message: "it is not in the manifest".to_owned() });
        }
    }
    found
}

/// Normalises irrelevant differences: trees are compared separately, and an empty build command is
/// none.
fn plain(put: &Put) -> Put {
    let mut put = put.clone();
    match &mut put.unit {
        UnitPut::Package(package) => {
            package.build_command = package.build_command.take().filter(|command| !command.is_empty());
        }
        UnitPut::Static(spec) => spec.tree = Digest::of(b""),
        _ => {}
    }
    put
}

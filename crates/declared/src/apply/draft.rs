//! Fills the digests of the trees into the puts of a folder.

use milepost_client::source::Source;
use milepost_model::unit_put::{PackagePut, Put, UnitPut};
use milepost_model::{Digest, UnitKind, UnitName, build};

use super::environments::Environments;
use super::scan::Trees;
use crate::{Declared, DeclaredUnit, TreeSlot};

/// Whether code has an environment that is only known to the app, so that it is unclear whether it
/// is built.
pub fn unknown_environment(declared: &Declared, environments: &Environments) -> bool {
    codes(declared)
        .any(|package| package.environment.as_ref().is_some_and(|named| environments.get(&named.name).is_none()))
}

/// Whether code has an environment that the app may define differently than assumed.
pub fn guesses(declared: &Declared, environments: &Environments) -> bool {
    codes(declared).any(|package| {
        let undecided = package.build_command.as_deref().unwrap_or_default().is_empty();
        undecided && package.environment.as_ref().is_some_and(|named| environments.is_guess(&named.name))
    })
}

fn codes(declared: &Declared) -> impl Iterator<Item = &PackagePut> {
    let has_code = |unit: &&DeclaredUnit| unit.trees.iter().any(|(slot, _)| *slot == TreeSlot::Code);
    declared.units.iter().filter(has_code).filter_map(|unit| match &unit.put.unit {
        UnitPut::Package(package) => Some(package),
        _ => None,
    })
}

pub fn puts(declared: &Declared, trees: &Trees, environments: &Environments) -> Vec<Put> {
    declared.units.iter().map(|unit| put(unit, trees, environments)).collect()
}

fn put(unit: &DeclaredUnit, trees: &Trees, environments: &Environments) -> Put {
    let mut put = unit.put.clone();
    for (slot, files) in &unit.trees {
        let Some(scanned) = trees.get(files) else { continue };
        let root = scanned.root;
        match (&mut put.unit, slot) {
            (UnitPut::Static(spec), TreeSlot::Static) => spec.tree = root,
            (UnitPut::Package(package), TreeSlot::Source) => package.source = Some(root),
            (UnitPut::Package(package), TreeSlot::Deployment) => package.deployment = Some(root),
            (UnitPut::Package(package), TreeSlot::Code) => {
                if command(package, environments, &scanned.source).is_some() {
                    package.source = Some(root);
                } else {
                    package.deployment = Some(root);
                }
            }
            _ => {}
        }
    }
    put
}

/// The build command of the package, as far as it is known.
pub fn command(package: &PackagePut, environments: &Environments, source: &Source) -> Option<String> {
    let own = package.build_command.as_deref().unwrap_or_default();
    let environment = package.environment.as_ref().and_then(|named| environments.get(&named.name));
    match environment {
        Some(environment) => build::command(own, &environment, |name| root_file(source, name)),
        None => Some(own.to_owned()).filter(|own| !own.is_empty()),
    }
}

fn root_file(source: &Source, name: &str) -> Option<Vec<u8>> {
    let tree = source.tree().ok()?;
    if let Some(file) = tree.file_at(name) {
        return source.read_blob(&file.digest).ok();
    }
    let below = format!("{name}/");
    tree.iter().any(|(path, _)| path.starts_with(&below)).then(Vec::new)
}

/// The put of a package, and its source.
pub fn package<'a>(puts: &'a [Put], name: &UnitName) -> Option<(&'a PackagePut, Option<Digest>)> {
    puts.iter().filter(|put| put.unit.kind() == UnitKind::Package && put.name == *name).find_map(|put| {
        match &put.unit {
            UnitPut::Package(package) => Some((package, package.source)),
            _ => None,
        }
    })
}

//! What can be told only when every document is read: references between them, and what nothing refers to.

use std::collections::BTreeSet;

use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::UnitPut;
use milepost_model::{UnitKind, UnitName, suggest};

use super::super::{FileSet, Place, TreeSlot};
use super::Reader;
use super::package::{Bytes, Pending};

impl Reader<'_> {
    pub fn check(&mut self) {
        self.fill_trees();
        if !self.lost.documents {
            let meant = self.unknown();
            self.unused(&meant);
        }
        if let (count @ 1.., Some(place)) = (self.labelled.0, self.labelled.1.clone()) {
            let whose = if count == 1 { "this object".to_owned() } else { format!("{count} objects, this one first,") };
            let message = format!("the labels and annotations of {whose} are not kept");
            self.problems.warn(place, message, None);
        }
    }

    /// Joins packages with their archives.
    fn fill_trees(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let Pending { unit, slot, bytes, what, place, environment } = pending;
            let files = match bytes {
                Bytes::Literal(bytes) => {
                    let name = self.literal_name(environment.as_ref(), &bytes);
                    Some(FileSet::Literal { name, bytes })
                }
                Bytes::Archive(name) => self.archive_files(&name, &what, slot, place),
            };
            if let (Some(files), Some(unit)) = (files, self.units.get_mut(unit)) {
                unit.trees.push((slot, files));
            }
        }
    }

    fn archive_files(&mut self, name: &str, what: &str, slot: TreeSlot, place: Place) -> Option<FileSet> {
        let Some(archive) = self.archives.get_mut(name) else {
            let key = if slot == TreeSlot::Source { "source" } else { "deployment" };
            if self.lost.documents {
                return None;
            }
            let near = suggest::closest(name, self.archives.keys().map(String::as_str));
            for meant in &near {
                self.archives.entry(meant.clone()).and_modify(|archive| archive.used = true);
            }
            let hint = if near.is_empty() {
                format!("declare it with `kind: ArchiveUploadSpec` and `name: {name}`")
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            let message = format!("`{key}` of {what} names archive `{name}`, which is not in the folder");
            self.problems.error(place, message, Some(hint));
            return None;
        };
        archive.used = true;
        archive.selection.clone().map(FileSet::Files)
    }

    /// Bytes in a document have no name, and runtimes go by it: a single file is loaded whatever its name, but for its ending.
    fn literal_name(&self, environment: Option<&UnitName>, bytes: &[u8]) -> String {
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            return "code.zip".to_owned();
        }
        let declared = |name: &UnitName| {
            self.units.iter().find_map(|unit| match &unit.put.unit {
                UnitPut::Environment(spec) if unit.put.name == *name => Some(spec.runtime),
                _ => None,
            })
        };
        let named = |name: &UnitName| {
            let built_in = EnvironmentSpec::built_in(name.as_str()).map(|spec| spec.runtime);
            // The app's own environment is not known here; its name mostly tells.
            let told = || {
                let runtimes = [("python", Runtime::Python), ("node", Runtime::Node), ("wasm", Runtime::Wasm)];
                runtimes.into_iter().find(|(word, _)| name.as_str().contains(word)).map(|(_, runtime)| runtime)
            };
            built_in.or_else(told)
        };
        let runtime = environment.and_then(|name| declared(name).or_else(|| named(name)));
        match runtime {
            Some(Runtime::Python) => "main.py",
            Some(Runtime::Node) => "main.js",
            Some(Runtime::Wasm) => "main.wasm",
            Some(Runtime::Binary) | None => "main",
        }
        .to_owned()
    }

    /// Packages and functions must be in the folder: what a folder is not complete without, it must not leave to chance. An
    /// environment may be the app's. Answers what was meant instead, as far as that is plain.
    fn unknown(&self) -> BTreeSet<String> {
        let mut meant = BTreeSet::new();
        for reference in &self.references {
            let kind = reference.key.kind;
            let name = reference.key.name.as_str();
            let known: BTreeSet<&str> =
                self.seen.keys().filter(|(seen, _)| *seen == kind.as_str()).map(|(_, name)| name.as_str()).collect();
            if known.contains(name) || !matches!(kind, UnitKind::Package | UnitKind::Function) {
                continue;
            }
            let near = suggest::closest(name, known);
            let hint = if near.is_empty() {
                let kind = if kind == UnitKind::Package { "Package" } else { "Function" };
                format!("declare it with `kind: {kind}` and `name: {name}`")
            } else {
                format!("did you mean {}?", suggest::or_list(&near))
            };
            let message = format!("{} names {kind} `{name}`, which is not in the folder", reference.by);
            self.problems.error(reference.place.clone(), message, Some(hint));
            meant.extend(near);
        }
        meant
    }

    fn unused(&self, meant: &BTreeSet<String>) {
        for (name, archive) in self.archives.iter().filter(|(_, archive)| !archive.used && !self.lost.archives) {
            let message = format!("archive `{name}` is used by no package");
            let hint = format!("name it in a package with `url: archive://{name}`, or take it out");
            self.problems.error(archive.place.clone(), message, Some(hint));
        }
        let used = |name: &UnitName| {
            let named =
                self.references.iter().any(|known| known.key.kind == UnitKind::Package && known.key.name == *name);
            named || meant.contains(name.as_str()) || self.lost.packages
        };
        let packages = self.units.iter().filter(|unit| unit.put.unit.kind() == UnitKind::Package);
        for unit in packages.filter(|unit| !used(&unit.put.name)) {
            let message = format!("package `{}` is used by no function", unit.put.name);
            self.problems.warn(unit.place.clone(), message, None);
        }
    }
}

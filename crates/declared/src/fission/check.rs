//! Checks that need all documents: references between them, and unused archives and packages.

use std::collections::BTreeSet;

use milepost_model::spec::{EnvironmentSpec, Runtime};
use milepost_model::unit_put::UnitPut;
use milepost_model::{UnitKind, UnitName, suggest};

use super::super::{FileSet, Place, TreeSlot};
use super::Reader;
use super::package::Bytes;

impl Reader<'_> {
    pub fn check(&mut self) {
        self.fill_trees();
        let meant = self.unknown();
        self.unused(&meant);
        self.tell_unchecked();
        super::super::checks::answered_twice(self.problems, &self.units, "HTTP trigger");
        if let (count @ 1.., Some(place)) = (self.labelled.0, self.labelled.1.clone()) {
            let whose =
                if count == 1 { "this object".to_owned() } else { format!("{count} objects, starting with this one,") };
            let message = format!("the labels and annotations of {whose} are not kept");
            self.problems.warn(place, message, None);
        }
    }

    /// Warns about references that were not checked, because an unreadable part contains their
    /// names.
    fn tell_unchecked(&self) {
        for hidden in &self.lost.documents {
            let held = self.unchecked.iter().filter(|(_, name)| hidden.may_hold(name));
            let held: Vec<&str> = held.map(|(text, _)| text.as_str()).collect();
            if !held.is_empty() {
                let message = format!(
                    "{} could not be read, so references to these were not checked: {}",
                    hidden.called,
                    held.join(", ")
                );
                self.problems.warn(hidden.place.clone(), message, None);
            }
        }
    }

    /// Adds the files of archives to the packages that use them.
    fn fill_trees(&mut self) {
        let mut unknown = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            let files = match &pending.bytes {
                Bytes::Literal(bytes) => {
                    let name = self.literal_name(pending.environment.as_ref(), bytes);
                    Some(FileSet::Literal { name, bytes: bytes.clone() })
                }
                Bytes::Archive(name) => match self.archives.get_mut(name) {
                    Some(archive) => {
                        archive.used = true;
                        let files = archive.selection.clone().map(FileSet::Files);
                        if let Some(files) = &files {
                            self.file_places.entry(files.clone()).or_insert_with(|| archive.place.clone());
                        }
                        files
                    }
                    None => {
                        unknown.push((name.clone(), pending.slot, pending.what, pending.place));
                        None
                    }
                },
            };
            if let (Some(files), Some(unit)) = (files, pending.unit.and_then(|unit| self.units.get_mut(unit))) {
                unit.trees.push((pending.slot, files));
            }
        }
        for (name, ..) in unknown.extract_if(.., |(name, ..)| self.lost.may_hold(name)) {
            self.unchecked.insert(format!("archive `{name}`"), name);
        }
        let names: BTreeSet<&str> = unknown.iter().map(|(name, ..)| name.as_str()).collect();
        // They may refer to the archives without a name.
        if names.len() <= self.unnamed("archive") {
            return;
        }
        for (name, slot, what, place) in unknown {
            self.unknown_archive(&name, slot, &what, place);
        }
    }

    fn unknown_archive(&mut self, name: &str, slot: TreeSlot, what: &str, place: Place) {
        let key = if slot == TreeSlot::Source { "source" } else { "deployment" };
        let near = suggest::closest(name, self.archives.keys().map(String::as_str));
        for meant in &near {
            self.archives.entry(meant.clone()).and_modify(|archive| archive.used = true);
        }
        let hint = if near.is_empty() {
            format!("declare it with `kind: ArchiveUploadSpec` and `name: {name}`")
        } else {
            format!("did you mean {}?", suggest::or_list(&near))
        };
        let message = format!("`{key}` of {what} refers to archive `{name}`, which is not in the folder");
        self.problems.error(place, message, Some(hint));
    }

    fn unnamed(&self, kind: &str) -> usize {
        self.lost.unnamed.get(kind).copied().unwrap_or_default()
    }

    /// Chooses a file name for bytes embedded in a document. Runtimes load a single file whatever
    /// it is called, but need the right extension.
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
            // The environments of the app are not known here, but their names usually contain the
            // runtime.
            let by_word = || {
                let runtimes = [("python", Runtime::Python), ("node", Runtime::Node), ("wasm", Runtime::Wasm)];
                runtimes.into_iter().find(|(word, _)| name.as_str().contains(word)).map(|(_, runtime)| runtime)
            };
            built_in.or_else(by_word)
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

    /// Packages and functions must be declared in the folder, so that it is complete. Environments
    /// may come from the app. Returns the likely intended names of unknown references.
    fn unknown(&mut self) -> BTreeSet<String> {
        let mut meant = BTreeSet::new();
        for (kind, called) in [(UnitKind::Package, "Package"), (UnitKind::Function, "Function")] {
            let of_kind = self.seen.keys().filter(|(seen, _)| *seen == kind.as_str());
            let known: BTreeSet<&str> = of_kind.map(|(_, name)| name.as_str()).collect();
            let references = self.references.iter().filter(|reference| reference.key.kind == kind);
            let unknown = references.filter(|found| !known.contains(found.key.name.as_str()));
            let (hidden, unknown): (Vec<_>, Vec<_>) =
                unknown.partition(|found| self.lost.may_hold(found.key.name.as_str()));
            let hidden = hidden.into_iter().map(|found| &found.key);
            self.unchecked.extend(hidden.map(|key| (format!("{kind} `{}`", key.name), key.name.to_string())));
            if kind == UnitKind::Package {
                let misnamed = self.lost.misnamed.iter();
                meant.extend(misnamed.flat_map(|name| suggest::closest(name, known.iter().copied())));
            }
            let names: BTreeSet<&UnitName> = unknown.iter().map(|reference| &reference.key.name).collect();
            // They may refer to the objects without a name.
            if names.len() <= self.unnamed(kind.as_str()) {
                continue;
            }
            for reference in unknown {
                let name = reference.key.name.as_str();
                let near = suggest::closest(name, known.iter().copied());
                let hint = if near.is_empty() {
                    format!("declare it with `kind: {called}` and `name: {name}`")
                } else {
                    format!("did you mean {}?", suggest::or_list(&near))
                };
                let message = format!("{} refers to {kind} `{name}`, which is not in the folder", reference.by);
                self.problems.error(reference.place.clone(), message, Some(hint));
                meant.extend(near);
            }
        }
        meant
    }

    /// Reports unused archives and packages, unless an unreadable part may use them.
    fn unused(&mut self, meant: &BTreeSet<String>) {
        let archives = self.archives.iter().map(|(name, archive)| (name.as_str(), archive));
        let (hidden, archives): (Vec<_>, Vec<_>) =
            archives.filter(|(_, archive)| !archive.used).partition(|(name, _)| self.lost.may_hold(name));
        self.unchecked.extend(hidden.into_iter().map(|(name, _)| (format!("archive `{name}`"), name.to_owned())));
        let archives = without_meant(archives, &self.lost.archives);
        for (name, archive) in archives {
            let message = format!("no package uses archive `{name}`");
            let hint = format!("use it in a package with `url: archive://{name}`, or remove it");
            self.problems.error(archive.place.clone(), message, Some(hint));
        }
        let references = self.references.iter().map(|reference| &reference.key);
        let named: BTreeSet<&str> =
            references.filter(|key| key.kind == UnitKind::Package).map(|key| key.name.as_str()).collect();
        let packages = self.units.iter().filter(|unit| unit.put.unit.kind() == UnitKind::Package);
        let packages = packages.map(|unit| (unit.put.name.as_str(), &unit.place));
        let unused = packages.filter(|(name, _)| !named.contains(name) && !meant.contains(*name));
        let (hidden, unused): (Vec<_>, Vec<_>) = unused.partition(|(name, _)| self.lost.may_hold(name));
        self.unchecked.extend(hidden.into_iter().map(|(name, _)| (format!("package `{name}`"), name.to_owned())));
        for (name, place) in without_meant(unused, &self.lost.packages) {
            let message = format!("no function uses package `{name}`");
            self.problems.warn(place.clone(), message, None);
        }
    }
}

/// Leaves out what unreadable references may mean: for each one, the entry with the longest common
/// prefix.
fn without_meant<'a, T>(mut unused: Vec<(&'a str, T)>, lost: &[String]) -> Vec<(&'a str, T)> {
    let alike = |one: &str, other: &str| one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    for name in lost {
        // On a tie, the first one.
        let nearest = (0..unused.len()).rev().max_by_key(|&at| alike(name, unused[at].0));
        if let Some(at) = nearest {
            unused.remove(at);
        }
    }
    unused
}

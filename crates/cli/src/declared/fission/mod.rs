//! Folders of `fission.io/v1` documents, as seed 003 and its users write them: every document of every `.yaml` and `.yml` file
//! below the folder.
//!
//! - A *namespace* is an app; `default`, or none, leaves it to the command which app is meant. One folder, one namespace.
//! - The *deployment* is that of the folder's `DeploymentConfig`. A folder without one is known by its repository and its path
//!   in it, so that seed 003's documents work as they stand, see [`unnamed`].
//! - *Archives* start at `rootdir`, by default the parent of the folder.
//! - `status` and what Kubernetes keeps in `metadata` say what was, not what should be, and are not read.

mod archive;
mod check;
mod document;
mod environment;
mod function;
mod margin;
mod package;
mod quantity;
#[cfg(test)]
mod tests;
mod trigger;
mod unnamed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::unit_put::UnitPut;
use milepost_model::{AppName, UnitKind, UnitName};

pub use environment::{builder_command, runs_once_per_request};

use super::problems::{Problems, failure};
use super::yaml::{Documents, NotYaml};
use super::{Declared, DeclaredUnit, FileSet, Place, Pointer, Problem, Reference, TreeSlot, Unread};
use crate::commands::shared;
use crate::failure::{Failure, Result};
use archive::Archive;
use package::Pending;
use unnamed::unnamed;

/// The namespace of those who did not think of any.
const NO_APP: &str = "default";

/// Reads a folder of specs. All its mistakes are told at once.
pub fn read_folder(path: &Path) -> Result<Declared> {
    let (declared, errors) = look_at_folder(path)?;
    if errors.is_empty() { Ok(declared) } else { Err(failure(errors, declared.warnings)) }
}

/// What can be read of a folder, and what is wrong with it: for those who do not apply it.
pub fn look_at_folder(path: &Path) -> Result<(Declared, Vec<Problem>)> {
    if !path.is_dir() {
        let message = if path.exists() {
            format!("`{}` is not a folder of specs", path.display())
        } else {
            format!("there is no folder `{}`", path.display())
        };
        return Err(Failure::usage(message)
            .hint("name the folder with `--specdir DIR`, or start one with `milepost spec init`"));
    }
    let problems = Problems::default();
    let files = yaml_files(path)?;
    if files.is_empty() {
        return Err(Failure::usage(format!("there are no specs in `{}`", path.display()))
            .hint("put `.yaml` files there; `milepost spec init` writes the first one"));
    }
    let mut reader = Reader::new(path, &problems);
    for file in &files {
        reader.file(file);
    }
    reader.check();
    let Reader { units, mut claims, references, pointers, file_places, deployment, namespace, lost, .. } = reader;
    let notes = problems.take_notes();
    let (errors, warnings) = problems.into_parts();
    claims.sort_by(|one, other| one.key.cmp(&other.key));
    claims.dedup_by(|one, other| one.key == other.key);
    let named = namespace.filter(|(name, _)| name != NO_APP).map(|(name, _)| name.parse::<AppName>());
    let texts = lost.documents.iter().filter_map(|hidden| hidden.text.clone()).collect();
    let app = matches!(named, Some(Err(_)));
    let unread = Unread { kinds: lost.kinds(), names: BTreeSet::new(), texts, app };
    let declared = Declared {
        is_unnamed: deployment.is_none(),
        deployment: deployment.unwrap_or_else(|| unnamed(path)),
        app: named.and_then(std::result::Result::ok),
        origin: path.to_owned(),
        folder: path.to_owned(),
        units,
        claims,
        references,
        pointers,
        file_places,
        notes,
        unread,
        warnings,
    };
    Ok((declared.without_documents(), errors))
}

/// In the order of their names, so that two runs tell the same.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    // The current folder is not worth a `./` in every message.
    let start = if folder == Path::new(".") { Path::new("") } else { folder };
    let mut files = Vec::new();
    let mut folders = vec![start.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let entries = std::fs::read_dir(listed).map_err(|error| Failure::unreadable(listed, &error))?;
        for entry in entries {
            let name = entry?.file_name();
            // Tools keep their things there.
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = folder.join(name);
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Where archives start: the parent of the specs.
pub fn project_of(folder: &Path) -> PathBuf {
    match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent().map(Path::to_owned).unwrap_or_default(),
        _ => folder.join(".."),
    }
}

/// What was read so far.
struct Reader<'a> {
    problems: &'a Problems,
    /// Where archives start.
    project: PathBuf,
    deployment: Option<Deployment>,
    /// Where the DeploymentConfig is, also one that cannot be used.
    config: Option<Place>,
    /// The first namespace that was named, and where.
    namespace: Option<(String, Place)>,
    units: Vec<DeclaredUnit>,
    claims: Vec<Reference>,
    references: Vec<Reference>,
    pointers: Vec<Pointer>,
    file_places: HashMap<FileSet, Place>,
    archives: BTreeMap<String, Archive>,
    /// Trees of packages, until all archives and environments are known.
    pending: Vec<Pending>,
    /// Where each object is, with the ones that cannot be used: they are wrong, not missing.
    seen: BTreeMap<(&'static str, String), Place>,
    /// What could not be read, so that nothing is told to be unknown or unused only because of it.
    lost: Lost,
    /// What is named, and may be in what could not be read: how it is told, and its name.
    unchecked: BTreeMap<String, String>,
    /// Objects with labels or annotations, and where the first one is.
    labelled: (usize, Option<Place>),
}

#[derive(Debug, Default)]
struct Lost {
    /// Whole files, and documents of which nobody knows what they are.
    documents: Vec<Hidden>,
    /// The packages that name their archive in a way that cannot be read.
    archives: Vec<String>,
    /// The functions that name their package in a way that cannot be read.
    packages: Vec<String>,
    /// Names that cannot be one, where a package is named.
    misnamed: Vec<String>,
    /// How many objects of a kind have no name: something may name what they should be called.
    unnamed: BTreeMap<&'static str, usize>,
}

/// What cannot be read.
#[derive(Debug)]
struct Hidden {
    /// Where it begins.
    place: Place,
    /// How an error calls it.
    called: String,
    /// What is written in it, where that can be told.
    text: Option<String>,
}

impl Hidden {
    /// Whether it may declare or use something of this name.
    fn may_hold(&self, name: &str) -> bool {
        self.text.as_ref().is_none_or(|text| text.contains(name))
    }
}

impl Lost {
    /// The kinds of which there may be more than was read, under any name.
    fn kinds(&self) -> BTreeSet<UnitKind> {
        let kinds = [UnitKind::Environment, UnitKind::Package, UnitKind::Function];
        let anything = self.documents.iter().any(|hidden| hidden.text.is_none());
        kinds.into_iter().filter(|kind| anything || self.unnamed.contains_key(kind.as_str())).collect()
    }

    fn may_hold(&self, name: &str) -> bool {
        self.documents.iter().any(|hidden| hidden.may_hold(name))
    }
}

impl<'a> Reader<'a> {
    fn new(folder: &Path, problems: &'a Problems) -> Self {
        Self {
            problems,
            project: project_of(folder),
            deployment: None,
            config: None,
            namespace: None,
            units: Vec::new(),
            claims: Vec::new(),
            references: Vec::new(),
            pointers: Vec::new(),
            file_places: HashMap::new(),
            archives: BTreeMap::new(),
            pending: Vec::new(),
            seen: BTreeMap::new(),
            lost: Lost::default(),
            unchecked: BTreeMap::new(),
            labelled: (0, None),
        }
    }

    /// A file that is not YAML is one mistake, and hides what is in it; the others are read all the same.
    fn file(&mut self, file: &Path) {
        let sink = self.problems.of_file(file).with_any_case();
        match sink.documents(text_of(file)) {
            Some(documents) => documents.into_iter().for_each(|node| self.document(&sink, node)),
            None => {
                let text = std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                let called = format!("`{}`", file.display());
                self.lost.documents.push(Hidden { place: sink.place(1), called, text });
            }
        }
    }

    fn add(&mut self, name: UnitName, unit: UnitPut, trees: Vec<(TreeSlot, FileSet)>, place: Place) {
        self.units.push(DeclaredUnit { put: shared::put(name, unit), trees, place });
    }

    fn refer(&mut self, kind: UnitKind, name: &UnitName, by: &str, place: Place) {
        let key = UnitKey { kind, name: name.clone() };
        self.references.push(Reference { place, by: by.to_owned(), key });
    }
}

fn text_of(file: &Path) -> std::result::Result<Documents, NotYaml> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let not_text = error.kind() == std::io::ErrorKind::InvalidData;
        let message = if not_text { "this is not text".to_owned() } else { format!("cannot be read: {error}") };
        NotYaml { line: 1, message, hint: not_text.then_some("save it as text in UTF-8") }
    })?;
    // Perhaps copied from a page, with the margin of the page.
    let pasted = || margin::without(&text).and_then(|text| Documents::parse(&text).ok());
    Documents::parse(&text).or_else(|error| pasted().ok_or(error))
}

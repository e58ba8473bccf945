//! Reads folders of `fission.io/v1` documents, such as those of seed 003: every document in every
//! `.yaml` and `.yml` file below the folder.
//!
//! - A *namespace* is an app. With `default`, or none, the command chooses the app. A folder has
//!   one namespace.
//! - The *deployment* is that of the folder's `DeploymentConfig`. Without one, the repository and
//!   the path in it identify the folder, so that the documents of seed 003 work unchanged, see
//!   [`mod@unnamed`].
//! - *Archives* are relative to `rootdir`, by default the parent of the folder.
//! - `status` and most of `metadata` describe the state in Kubernetes and are not read.

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

use super::error::{Error, Result};
use super::problems::Problems;
use super::yaml::{Documents, NotYaml};
use super::{Declared, DeclaredUnit, FileSet, Place, Pointer, Problem, Reference, TreeSlot, Unread};
use archive::Archive;
use package::Pending;
use unnamed::unnamed;

/// The default namespace, which selects no app.
const NO_APP: &str = "default";

/// Reads a folder of specs and reports all mistakes at once.
pub fn read_folder(path: &Path) -> Result<Declared> {
    let (declared, errors) = look_at_folder(path)?;
    if errors.is_empty() { Ok(declared) } else { Err(Error::Mistakes { errors, warnings: declared.warnings }) }
}

/// Reads what it can of a folder, and returns the errors too, for callers that do not apply it.
pub fn look_at_folder(path: &Path) -> Result<(Declared, Vec<Problem>)> {
    if !path.is_dir() {
        let path = path.to_owned();
        return Err(if path.exists() { Error::NotSpecs { path } } else { Error::NoFolder { path } });
    }
    let problems = Problems::default();
    let files = yaml_files(path)?;
    if files.is_empty() {
        return Err(Error::NoSpecs { path: path.to_owned() });
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

/// Sorted, so that the output is deterministic.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    // Avoids a `./` in every message.
    let start = if folder == Path::new(".") { Path::new("") } else { folder };
    let mut files = Vec::new();
    let mut folders = vec![start.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let entries =
            std::fs::read_dir(listed).map_err(|source| Error::Unreadable { path: listed.to_owned(), source })?;
        for entry in entries {
            let name = entry?.file_name();
            // Hidden files and directories belong to tools.
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

/// The directory that archives are relative to: the parent of the specs.
pub fn project_of(folder: &Path) -> PathBuf {
    match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent().map(Path::to_owned).unwrap_or_default(),
        _ => folder.join(".."),
    }
}

/// What was read so far.
struct Reader<'a> {
    problems: &'a Problems,
    /// The directory that archives are relative to.
    project: PathBuf,
    deployment: Option<Deployment>,
    /// The location of the DeploymentConfig, also of an invalid one.
    config: Option<Place>,
    /// The first namespace, and its location.
    namespace: Option<(String, Place)>,
    units: Vec<DeclaredUnit>,
    claims: Vec<Reference>,
    references: Vec<Reference>,
    pointers: Vec<Pointer>,
    file_places: HashMap<FileSet, Place>,
    archives: BTreeMap<String, Archive>,
    /// Trees of packages that are resolved once all archives and environments are known.
    pending: Vec<Pending>,
    /// The locations of all objects, including invalid ones, which are not missing.
    seen: BTreeMap<(&'static str, String), Place>,
    /// What could not be read, so that it does not cause errors about unknown or unused names.
    lost: Lost,
    /// References that an unreadable part may resolve: the text for messages, and the name.
    unchecked: BTreeMap<String, String>,
    /// The number of objects with labels or annotations, and the location of the first.
    labelled: (usize, Option<Place>),
}

#[derive(Debug, Default)]
struct Lost {
    /// Unreadable files, and documents of an unknown kind.
    documents: Vec<Hidden>,
    /// Packages with an unreadable reference to an archive.
    archives: Vec<String>,
    /// Functions with an unreadable reference to a package.
    packages: Vec<String>,
    /// Invalid names in references to packages.
    misnamed: Vec<String>,
    /// The number of objects without a name for each kind. Unresolved references may mean them.
    unnamed: BTreeMap<&'static str, usize>,
}

/// An unreadable file or document.
#[derive(Debug)]
struct Hidden {
    /// Where it starts.
    place: Place,
    /// How messages call it.
    called: String,
    /// Its text, if it could be read.
    text: Option<String>,
}

impl Hidden {
    /// Whether it may declare or use this name.
    fn may_hold(&self, name: &str) -> bool {
        self.text.as_ref().is_none_or(|text| text.contains(name))
    }
}

impl Lost {
    /// The kinds that may have declarations under any name that were not read.
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

    /// A file that is not YAML is one mistake and hides its content; the other files are still
    /// read.
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
        self.units.push(DeclaredUnit { put: super::put(name, unit), trees, place });
    }

    fn refer(&mut self, kind: UnitKind, name: &UnitName, by: &str, place: Place) {
        let key = UnitKey { kind, name: name.clone() };
        self.references.push(Reference { place, by: by.to_owned(), key });
    }
}

fn text_of(file: &Path) -> std::result::Result<Documents, NotYaml> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let not_text = error.kind() == std::io::ErrorKind::InvalidData;
        let message = if not_text {
            "this file is not valid UTF-8".to_owned()
        } else {
            format!("could not read this file: {error}")
        };
        NotYaml { line: 1, message, hint: not_text.then_some("save it as UTF-8 text") }
    })?;
    // It may have been copied from a page, with the margin of the page.
    let pasted = || margin::without(&text).and_then(|text| Documents::parse(&text).ok());
    Documents::parse(&text).or_else(|error| pasted().ok_or(error))
}

//! What a folder declares: the units that an app, or a part of one, should be made of. `milepost.yaml` and folders of
//! `fission.io/v1` documents are read into the same [`Declared`]; from there on nobody asks which of the two it was.
//!
//! Reading touches the disk only to see that what is named is there. `docs/decisions/007-declarative.md` has the reasons.

pub mod apply;
pub mod bounds;
pub mod checks;
pub mod files;
pub mod fission;
pub mod lookup;
pub mod manifest;
#[cfg(test)]
mod mistakes;
mod over_plan;
mod problems;
mod target;
#[cfg(test)]
mod testing;
pub mod write;
mod yaml;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::spec::{BUILT_IN_ENVIRONMENTS, EnvironmentSpec};
use milepost_model::unit_put::{Put, UnitPut};
use milepost_model::{AppName, Selector, UnitKind, UnitName, suggest};

use self::yaml::quoted;

pub use manifest::{look_at_manifest, read_manifest};
pub use problems::failure;

/// Units that a hint names, at most.
const NAMED: usize = 5;

#[derive(Debug)]
pub struct Declared {
    pub deployment: Deployment,
    /// Whether nobody gave the deployment a name, so that it is known by the place of the folder.
    pub is_unnamed: bool,
    /// The app that it names, if it names one.
    pub app: Option<AppName>,
    /// The file or folder that was read, as the user typed it.
    pub origin: PathBuf,
    /// Where git is asked.
    pub folder: PathBuf,
    pub units: Vec<DeclaredUnit>,
    /// What it needs and does not put: the secrets that its functions name.
    pub claims: Vec<Reference>,
    /// Every unit that something in it names, wherever that unit is. See [`Declared::unresolved`].
    pub references: Vec<Reference>,
    /// The aliases and versions that triggers name.
    pub pointers: Vec<Pointer>,
    /// Where files are named, if that is elsewhere than the unit that is made of them.
    pub file_places: HashMap<FileSet, Place>,
    /// What is not carried over and does no harm: only who leaves the specs behind wants to know.
    pub notes: Vec<Problem>,
    /// What a mistake hides, so that nothing is told to be unknown only because of it.
    pub unread: Unread,
    /// What was read and is not as it should be, but stops nothing.
    pub warnings: Vec<Problem>,
}

/// What could not be read of a folder with mistakes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    /// The kinds of which it may declare more than was read.
    pub kinds: BTreeSet<UnitKind>,
    /// Units that are there and could not be read.
    pub names: BTreeSet<UnitKey>,
    /// The texts of what could not be read at all: whatever is named in there may be declared there.
    pub texts: Vec<String>,
    /// The app that it names.
    pub app: bool,
}

impl Unread {
    /// Whether a mistake may hide that this is declared.
    pub fn may_declare(&self, key: &UnitKey) -> bool {
        let is_in = |text: &String| text.contains(key.name.as_str());
        self.kinds.contains(&key.kind) || self.names.contains(key) || self.texts.iter().any(is_in)
    }
}

/// That one unit names another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub place: Place,
    /// Who names it, as an error says it: ``route `GET /hello` ``.
    pub by: String,
    pub key: UnitKey,
}

/// That a trigger follows an alias, or is fixed to a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub place: Place,
    pub by: String,
    pub function: UnitName,
    pub version: Selector,
}

/// One unit, complete but for the digests of its trees.
#[derive(Debug, Clone)]
pub struct DeclaredUnit {
    pub put: Put,
    pub trees: Vec<(TreeSlot, FileSet)>,
    pub place: Place,
}

/// Which field of the put a tree belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeSlot {
    /// Of a package: what is built.
    Source,
    /// Of a package: what runs.
    Deployment,
    /// Of a package: its source if there is something to build, else what runs.
    Code,
    /// Of a static item.
    Static,
}

/// Files that become one tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileSet {
    Files(Selection),
    /// Bytes that stand in the document itself: a zip, or one file of this name.
    Literal {
        name: String,
        bytes: Vec<u8>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    /// A folder, a file or a zip. Patterns start here, and so do the paths of the tree.
    pub root: PathBuf,
    /// Nothing: everything.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Patterns of the documents that declare it, which are never a part of it.
    pub documents: Vec<String>,
    /// Whether a zip stays a file.
    pub keep_archives: bool,
    /// Whether `.gitignore` counts. `.milepostignore` always does.
    pub gitignore: bool,
}

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: PathBuf,
    pub line: u64,
}

/// Something that is wrong with what was read, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub message: String,
    pub hint: Option<String>,
}

impl DeclaredUnit {
    pub fn key(&self) -> UnitKey {
        UnitKey { kind: self.put.unit.kind(), name: self.put.name.clone() }
    }
}

impl Declared {
    pub fn keys(&self) -> impl Iterator<Item = UnitKey> + '_ {
        self.units.iter().map(DeclaredUnit::key)
    }

    /// The files and folders that it is made of, for those who watch them.
    pub fn sources(&self) -> Vec<&Path> {
        let sets = self.units.iter().flat_map(|unit| &unit.trees);
        let mut found: Vec<&Path> = sets
            .filter_map(|(_, files)| match files {
                FileSet::Files(selection) => Some(selection.root.as_path()),
                FileSet::Literal { .. } => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What is named and not declared: the app must have it, or (environments) it must be a built-in one, which are not
    /// listed here. For an app that does not exist yet, every one of these is a mistake.
    pub fn unresolved(&self) -> Vec<&Reference> {
        let built_in =
            |key: &UnitKey| key.kind == UnitKind::Environment && EnvironmentSpec::built_in(key.name.as_str()).is_some();
        let declared = |key: &UnitKey| self.unread.may_declare(key) || self.unit(key.kind, &key.name).is_some();
        // A folder of specs must have these itself, and is told so when it is read.
        let specs = self.origin.is_dir();
        let own = |key: &UnitKey| specs && matches!(key.kind, UnitKind::Package | UnitKind::Function);
        self.references.iter().filter(|Reference { key, .. }| !declared(key) && !built_in(key) && !own(key)).collect()
    }

    /// What to say of an unresolved reference that nobody has. `app_has`: the names of that kind in the app; `app`: its name, if
    /// there is such an app.
    pub fn unknown(&self, reference: &Reference, app_has: &[&str], app: Option<&str>) -> Problem {
        let Reference { place, by, key } = reference;
        let specs = self.origin.is_dir();
        let origin = if specs { "the folder" } else { "the manifest" };
        let own = self.units.iter().filter(|unit| unit.put.unit.kind() == key.kind).map(|unit| unit.put.name.as_str());
        let mut known: Vec<&str> = own.chain(app_has.iter().copied()).collect();
        if key.kind == UnitKind::Environment {
            known.extend(BUILT_IN_ENVIRONMENTS.map(|(name, _)| name));
        }
        let near = suggest::closest(key.name.as_str(), known.iter().copied());
        let mut hint = (!near.is_empty()).then(|| format!("did you mean {}?", suggest::or_list(&near)));
        if key.kind == UnitKind::Environment {
            let make = match app {
                Some(app) => {
                    let (name, option) = (&key.name, app_option(app));
                    format!("`milepost environment create {name} --runtime python{option}` makes one in the app")
                }
                // A command cannot make it in an app that is not there.
                None if specs => format!("declare it with `kind: Environment` and `name: {}`", key.name),
                None => format!("declare it under `environments:`, like `{}: python`", key.name),
            };
            hint = Some(hint.map_or_else(|| make.clone(), |near| format!("{near} Or {make}")));
        }
        let hint = hint.unwrap_or_else(|| declare(key.kind, known));
        // A server that was asked says what the app has; the folder alone cannot.
        let nowhere = if app_has.is_empty() { "not in" } else { "neither in the app nor in" };
        let message = format!("{by} names {} `{}`, which is {nowhere} {origin}", key.kind, key.name);
        Problem { place: place.clone(), message, hint: Some(hint) }
    }

    /// Whether a function of it wants this secret.
    pub fn is_wanted(&self, secret: &UnitName) -> bool {
        self.units.iter().any(|unit| matches!(&unit.put.unit, UnitPut::Function(put) if put.secrets.contains(secret)))
    }

    pub fn unit(&self, kind: UnitKind, name: &UnitName) -> Option<&DeclaredUnit> {
        self.units.iter().find(|unit| unit.put.unit.kind() == kind && unit.put.name == *name)
    }
}

/// What to do about a package or a function of a manifest that is like none of those that there are.
fn declare(kind: UnitKind, mut known: Vec<&str>) -> String {
    known.sort_unstable();
    known.dedup();
    let declare = format!("declare it under `{kind}s:`");
    match known.len() {
        0 => declare,
        1..=NAMED => {
            let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
            format!("{declare}, or name one that is there: {}", suggest::or_list(&known))
        }
        _ => format!("{declare}, or name one that is there, like {}", quoted(&known[..NAMED])),
    }
}

/// ` --app shop` for a command of a hint, where leaving it out would mean another app.
pub fn app_option(app: &str) -> String {
    let variable = std::env::var("MILEPOST_APP").ok().filter(|app| !app.is_empty());
    let meant = variable.or_else(manifest::app_of_this_folder);
    let meant = meant.as_deref().unwrap_or(crate::context::DEFAULT_APP);
    if meant == app { String::new() } else { format!(" --app {app}") }
}

/// `specs/hello.yaml:7`, which editors and terminals turn into a link.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

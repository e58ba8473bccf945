//! The units that a folder declares for an app, or for a part of one. `milepost.yaml` and folders
//! of `fission.io/v1` documents are read into the same [`Declared`]; later stages do not
//! distinguish the two.
//!
//! Reading only checks that the named files exist. See `docs/decisions/007-declarative.md` for the
//! reasons.

pub mod apply;
pub mod bounds;
pub mod checks;
mod error;
pub mod files;
pub mod fission;
mod in_flight;
pub mod lookup;
pub mod manifest;
mod over_plan;
mod problems;
pub mod reporter;
mod scanner;
mod session;
mod target;
#[cfg(test)]
mod testing;
pub mod values;
pub mod write;
mod yaml;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::spec::{BUILT_IN_ENVIRONMENTS, EnvironmentSpec, Runtime, UnknownRuntime};
use milepost_model::unit_put::{Put, UnitPut};
use milepost_model::{AliasName, AppName, Selector, UnitKind, UnitName, suggest};

use self::yaml::quoted;

pub use error::Error;
pub use in_flight::InFlight;
pub use manifest::{look_at_manifest, read_manifest};
pub use scanner::Scanner;
pub use session::Session;

/// How many existing units a hint lists.
const NAMED: usize = 5;

#[derive(Debug)]
pub struct Declared {
    pub deployment: Deployment,
    /// Whether the deployment has no name of its own and is identified by the location of the
    /// folder.
    pub is_unnamed: bool,
    /// The app that the folder specifies, if any.
    pub app: Option<AppName>,
    /// The file or folder that was read, as the user typed it.
    pub origin: PathBuf,
    /// The directory in which git is run.
    pub folder: PathBuf,
    pub units: Vec<DeclaredUnit>,
    /// Required units that the folder does not declare: the secrets that it refers to.
    pub claims: Vec<Reference>,
    /// Every reference to a unit, resolved or not. See [`Declared::unresolved`].
    pub references: Vec<Reference>,
    /// The aliases and versions that triggers refer to.
    pub pointers: Vec<Pointer>,
    /// Where file sets are declared, when that is not the place of the unit that uses them.
    pub file_places: HashMap<FileSet, Place>,
    /// Harmless settings that are dropped. Only reported when importing specs into a manifest.
    pub notes: Vec<Problem>,
    /// What could not be read, so that its contents are not reported as unknown.
    pub unread: Unread,
    pub warnings: Vec<Problem>,
}

/// The parts of a folder that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    /// Kinds that may have more declarations than were read.
    pub kinds: BTreeSet<UnitKind>,
    /// Units that are declared but could not be read.
    pub names: BTreeSet<UnitKey>,
    /// Raw text of unreadable parts. Any name that occurs in it may be declared there.
    pub texts: Vec<String>,
    /// Whether the app name could not be read.
    pub app: bool,
}

impl Unread {
    /// Whether an unreadable part may declare this unit.
    pub fn may_declare(&self, key: &UnitKey) -> bool {
        let is_in = |text: &String| text.contains(key.name.as_str());
        self.kinds.contains(&key.kind) || self.names.contains(key) || self.texts.iter().any(is_in)
    }
}

/// A reference from one unit to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub place: Place,
    /// The referring unit as error messages show it: ``route `GET /hello` ``.
    pub by: String,
    pub key: UnitKey,
}

/// A trigger's alias or pinned version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub place: Place,
    pub by: String,
    pub function: UnitName,
    pub version: Selector,
}

/// One unit, complete except for the digests of its trees.
#[derive(Debug, Clone)]
pub struct DeclaredUnit {
    pub put: Put,
    pub trees: Vec<(TreeSlot, FileSet)>,
    pub place: Place,
}

/// The field of the put that a tree belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeSlot {
    /// The source of a package, which is built.
    Source,
    /// The deployment archive of a package, which runs as it is.
    Deployment,
    /// The code of a package: its source if there is a build step, else what runs.
    Code,
    /// The files of a static item.
    Static,
}

/// Files that become one tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileSet {
    Files(Selection),
    /// Bytes embedded in the document: a zip, or a single file with this name.
    Literal {
        name: String,
        bytes: Vec<u8>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    /// A directory, a file or a zip. Patterns and the paths in the tree are relative to it.
    pub root: PathBuf,
    /// Empty includes everything.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Patterns of the declaring documents, which are never part of the tree.
    pub documents: Vec<String>,
    /// Whether a zip is kept as a file instead of being unpacked.
    pub keep_archives: bool,
    /// Whether `.gitignore` applies. `.milepostignore` always does.
    pub gitignore: bool,
}

/// A source location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: PathBuf,
    pub line: u64,
}

/// A mistake in the input, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub message: String,
    pub hint: Option<String>,
    /// What to do on the server or with the front end. The front end phrases it, after the hint.
    pub next: Option<Next>,
}

/// A step that fixes a problem, and that each front end offers in its own way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    CreateEnvironment {
        name: UnitName,
        app: String,
    },
    SetSecret {
        name: UnitName,
        app: String,
    },
    CreateAlias {
        function: UnitName,
        alias: AliasName,
        app: String,
    },
    /// The function has no version that an alias could point to.
    CreateAliasLater {
        function: UnitName,
        alias: AliasName,
        app: String,
    },
    ListVersions {
        function: UnitName,
        app: String,
    },
    /// Remove the unit from one of two folders, or take it over.
    TakeOver,
    /// Copy the files into the folder, or allow files outside of it.
    AllowOutside,
    /// Request less, or move the app to a larger plan.
    SetPlan,
}

impl Problem {
    pub fn new(place: Place, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { place, message: message.into(), hint, next: None }
    }

    #[must_use]
    pub fn next(mut self, next: Next) -> Self {
        self.next = Some(next);
        self
    }
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

    /// The files and directories to watch for changes.
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

    /// References to units that the folder does not declare. The app must have them. Built-in
    /// environments are not listed. For an app that does not exist yet, each one is an error.
    pub fn unresolved(&self) -> Vec<&Reference> {
        let built_in =
            |key: &UnitKey| key.kind == UnitKind::Environment && EnvironmentSpec::built_in(key.name.as_str()).is_some();
        let declared = |key: &UnitKey| self.unread.may_declare(key) || self.unit(key.kind, &key.name).is_some();
        // A folder of specs must declare these itself; reading it reports missing ones.
        let specs = self.origin.is_dir();
        let own = |key: &UnitKey| specs && matches!(key.kind, UnitKind::Package | UnitKind::Function);
        self.references.iter().filter(|Reference { key, .. }| !declared(key) && !built_in(key) && !own(key)).collect()
    }

    /// The error for a reference that neither the folder nor the app resolves. `app_has` are the
    /// names of that kind in the app, and `app` is its name if it exists.
    pub fn unknown(&self, reference: &Reference, app_has: &[&str], app: Option<&str>) -> Problem {
        let Reference { place, by, key } = reference;
        if key.kind == UnitKind::Environment
            && let Err(error @ UnknownRuntime::Wasm) = key.name.as_str().parse::<Runtime>()
        {
            let message = format!("{by} refers to environment `{}`: {error}", key.name);
            return Problem { place: place.clone(), message, hint: None, next: None };
        }
        let specs = self.origin.is_dir();
        let origin = if specs { "the folder" } else { "the manifest" };
        let own = self.units.iter().filter(|unit| unit.put.unit.kind() == key.kind).map(|unit| unit.put.name.as_str());
        let mut known: Vec<&str> = own.chain(app_has.iter().copied()).collect();
        if key.kind == UnitKind::Environment {
            known.extend(BUILT_IN_ENVIRONMENTS.map(|(name, _)| name));
        }
        let near = suggest::closest(key.name.as_str(), known.iter().copied());
        let near = (!near.is_empty()).then(|| format!("did you mean {}?", suggest::or_list(&near)));
        let mut next = None;
        let hint = match (key.kind, app) {
            (UnitKind::Environment, Some(app)) => {
                next = Some(Next::CreateEnvironment { name: key.name.clone(), app: app.to_owned() });
                near
            }
            // The app does not exist yet, so no environment can be created in it.
            (UnitKind::Environment, None) => {
                let make = if specs {
                    format!("declare it with `kind: Environment` and `name: {}`", key.name)
                } else {
                    format!("declare it under `environments:`, like `{}: python`", key.name)
                };
                Some(near.map_or_else(|| make.clone(), |near| format!("{near} Or {make}")))
            }
            (kind, _) => Some(near.unwrap_or_else(|| declare(kind, known))),
        };
        // An empty list may also mean that no server was asked, so the app is not mentioned.
        let nowhere = if app_has.is_empty() { "not in" } else { "neither in the app nor in" };
        let message = format!("{by} refers to {} `{}`, which is {nowhere} {origin}", key.kind, key.name);
        Problem { place: place.clone(), message, hint, next }
    }

    /// Whether one of the declared functions uses this secret.
    pub fn is_wanted(&self, secret: &UnitName) -> bool {
        self.units.iter().any(|unit| matches!(&unit.put.unit, UnitPut::Function(put) if put.secrets.contains(secret)))
    }

    pub fn unit(&self, kind: UnitKind, name: &UnitName) -> Option<&DeclaredUnit> {
        self.units.iter().find(|unit| unit.put.unit.kind() == kind && unit.put.name == *name)
    }
}

/// The hint for an unknown package or function with no similar name.
fn declare(kind: UnitKind, mut known: Vec<&str>) -> String {
    known.sort_unstable();
    known.dedup();
    let declare = format!("declare it under `{kind}s:`");
    match known.len() {
        0 => declare,
        1..=NAMED => {
            let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
            format!("{declare}, or use an existing one: {}", suggest::or_list(&known))
        }
        _ => format!("{declare}, or use an existing one, like {}", quoted(&known[..NAMED])),
    }
}

/// A put with only what is required.
pub fn put(name: UnitName, unit: UnitPut) -> Put {
    Put { name, label: None, description: None, group: None, force: false, only: None, unit }
}

/// Formats as `specs/hello.yaml:7`, which editors and terminals turn into a link.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

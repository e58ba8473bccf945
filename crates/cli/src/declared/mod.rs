//! What a folder declares: the units that an app, or a part of one, should be made of. `milepost.yaml` and folders of
//! `fission.io/v1` documents are read into the same [`Declared`]; from there on nobody asks which of the two it was.
//!
//! Reading touches the disk only to see that what is named is there. `docs/decisions/007-declarative.md` has the reasons.

use std::fmt;
use std::path::{Path, PathBuf};

use milepost_model::change::{Deployment, UnitKey};
use milepost_model::unit_put::Put;
use milepost_model::{AppName, UnitName};

#[derive(Debug)]
pub struct Declared {
    pub deployment: Deployment,
    /// The app that it names, if it names one.
    pub app: Option<AppName>,
    /// The file or folder that was read, as the user typed it.
    pub origin: PathBuf,
    /// Where git is asked.
    pub folder: PathBuf,
    pub units: Vec<DeclaredUnit>,
    /// What it needs and does not put: the secrets that its functions name.
    pub claims: Vec<UnitKey>,
    /// What was read and is not as it should be, but stops nothing.
    pub warnings: Vec<Problem>,
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
    Literal { name: String, bytes: Vec<u8> },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    /// A folder, a file or a zip. Patterns start here, and so do the paths of the tree.
    pub root: PathBuf,
    /// Nothing: everything.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
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

    pub fn unit(&self, kind: milepost_model::UnitKind, name: &UnitName) -> Option<&DeclaredUnit> {
        self.units.iter().find(|unit| unit.put.unit.kind() == kind && unit.put.name == *name)
    }
}

/// `specs/hello.yaml:7`, which editors and terminals turn into a link.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

//! File trees. A tree is stored as one object per directory, so that two trees that differ in one
//! file share all other directories. The digest of the root directory is the digest of the tree.
//!
//! This module defines the encoding and the rules for paths; `blobs` stores the bytes.

mod diff;
mod links;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use diff::{FileChange, FileChangeKind, TextOmitted, diff};

use crate::canonical;
use crate::digest::Digest;

/// Incremented when the encoding of directories changes. Old directories must stay readable.
const FORMAT: u32 = 1;
const MAX_PATH: usize = 1024;
const MAX_DEPTH: usize = 64;

/// One directory, the unit of storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    format: u32,
    pub entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    File(FileEntry),
    Directory {
        digest: Digest,
    },
    /// A symbolic link that stays inside the tree.
    Link {
        target: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileEntry {
    pub digest: Digest,
    pub size: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// An entry at a path of a flattened tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    File(FileEntry),
    Link { target: String },
}

/// A whole tree, flattened to paths. As in git, empty directories are not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    leaves: BTreeMap<String, Leaf>,
}

/// A tree ready for storage: its root and its encoded directories, children before parents.
#[derive(Debug, Clone)]
pub struct EncodedTree {
    pub root: Digest,
    pub directories: Vec<(Digest, Vec<u8>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("the path `{0}` leaves the tree or is not a plain relative path")]
    Escapes(String),
    #[error("the path `{0}` is longer than {MAX_PATH} bytes or deeper than {MAX_DEPTH} folders")]
    TooLong(String),
    #[error("the link `{path}` points to `{target}`, outside the tree")]
    LinkEscapes { path: String, target: String },
    #[error("the tree has too many or too long links")]
    TooManyLinks,
    #[error("`{0}` occurs twice in the tree, or as a file and a folder")]
    Collides(String),
    #[error("not a directory object: {0}")]
    Malformed(String),
}

impl Directory {
    pub fn decode(bytes: &[u8]) -> Result<Self, TreeError> {
        let directory: Self = serde_json::from_slice(bytes).map_err(|error| TreeError::Malformed(error.to_string()))?;
        if directory.format != FORMAT {
            return Err(TreeError::Malformed(format!("format {} is newer than this server", directory.format)));
        }
        for (name, entry) in &directory.entries {
            if name.is_empty() || name.contains(['/', '\\', '\0']) || name == "." || name == ".." {
                return Err(TreeError::Escapes(name.clone()));
            }
            if let Entry::Link { target } = entry
                && (target.is_empty() || target.starts_with('/') || target.contains('\0'))
            {
                return Err(TreeError::LinkEscapes { path: name.clone(), target: target.clone() });
            }
        }
        Ok(directory)
    }

    pub fn encode(&self) -> Vec<u8> {
        canonical::to_bytes(self)
    }

    /// The digests of everything that this directory refers to, which must be stored before it.
    pub fn children(&self) -> impl Iterator<Item = Digest> + '_ {
        self.entries.values().filter_map(|entry| match entry {
            Entry::File(file) => Some(file.digest),
            Entry::Directory { digest } => Some(*digest),
            Entry::Link { .. } => None,
        })
    }
}

impl Tree {
    pub fn insert(&mut self, path: &str, leaf: Leaf) -> Result<(), TreeError> {
        let path = checked_path(path)?;
        if let Leaf::Link { target } = &leaf {
            links::check_letters(&path, target)?;
        }
        let prefix_taken = parents(&path).any(|parent| self.leaves.contains_key(parent));
        let below = format!("{path}/");
        let folder_taken = self.leaves.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below));
        if prefix_taken || folder_taken || self.leaves.contains_key(&path) {
            return Err(TreeError::Collides(path));
        }
        self.leaves.insert(path, leaf);
        Ok(())
    }

    pub fn get(&self, path: &str) -> Option<&Leaf> {
        self.leaves.get(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Leaf)> {
        self.leaves.iter().map(|(path, leaf)| (path.as_str(), leaf))
    }

    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    pub fn total_size(&self) -> u64 {
        self.leaves.values().map(|leaf| if let Leaf::File(file) = leaf { file.size } else { 0 }).sum()
    }

    pub fn encode(&self) -> EncodedTree {
        let mut root = Draft::default();
        for (path, leaf) in &self.leaves {
            root.insert(path, leaf);
        }
        let mut directories = Vec::new();
        let root = root.finish(&mut directories);
        EncodedTree { root, directories }
    }
}

/// A directory whose children are still being collected.
#[derive(Default)]
struct Draft<'a> {
    leaves: BTreeMap<&'a str, &'a Leaf>,
    folders: BTreeMap<&'a str, Draft<'a>>,
}

impl<'a> Draft<'a> {
    fn insert(&mut self, path: &'a str, leaf: &'a Leaf) {
        match path.split_once('/') {
            Some((folder, rest)) => self.folders.entry(folder).or_default().insert(rest, leaf),
            None => {
                self.leaves.insert(path, leaf);
            }
        }
    }

    fn finish(self, done: &mut Vec<(Digest, Vec<u8>)>) -> Digest {
        let mut entries = BTreeMap::new();
        for (name, folder) in self.folders {
            entries.insert(name.to_owned(), Entry::Directory { digest: folder.finish(done) });
        }
        for (name, leaf) in self.leaves {
            let entry = match leaf {
                Leaf::File(file) => Entry::File(*file),
                Leaf::Link { target } => Entry::Link { target: target.clone() },
            };
            entries.insert(name.to_owned(), entry);
        }
        let bytes = Directory { format: FORMAT, entries }.encode();
        let digest = Digest::of(&bytes);
        done.push((digest, bytes));
        digest
    }
}

fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The longest name of a file or directory that file systems accept, in bytes.
pub const MAX_NAME: usize = 255;

/// Whether every component of a path is short enough for a file system. Older trees may have longer
/// names, so this is not checked when they are read.
pub fn fits_a_disk(path: &str) -> bool {
    path.split('/').all(|name| name.len() <= MAX_NAME)
}

/// Returns the path if it is in stored form: relative, separated by `/`, without empty parts, `.`
/// and `..`.
pub fn checked_path(path: &str) -> Result<String, TreeError> {
    if path.len() > MAX_PATH || path.matches('/').count() > MAX_DEPTH {
        return Err(TreeError::TooLong(path.chars().take(80).collect()));
    }
    let plain = !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\\', '\0'])
        // `C:x` is absolute on the systems where many zip files are made.
        && path.as_bytes().get(1) != Some(&b':')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if plain { Ok(path.to_owned()) } else { Err(TreeError::Escapes(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Leaf {
        Leaf::File(FileEntry { digest: Digest::of(text.as_bytes()), size: text.len() as u64, executable: false })
    }

    #[test]
    fn a_changed_file_changes_only_its_own_directories() {
        let mut before = Tree::default();
        before.insert("a/x/1", file("one")).expect("fits");
        before.insert("b/y/2", file("two")).expect("fits");
        let mut after = Tree::default();
        after.insert("a/x/1", file("ONE")).expect("fits");
        after.insert("b/y/2", file("two")).expect("fits");
        let known: Vec<Digest> = before.encode().directories.iter().map(|(digest, _)| *digest).collect();
        let fresh = after.encode().directories.iter().filter(|(digest, _)| !known.contains(digest)).count();
        assert_eq!(fresh, 3, "the root, a and a/x");
    }

    #[test]
    fn paths_and_links_cannot_leave_the_tree() {
        let mut tree = Tree::default();
        for bad in ["../x", "/etc/passwd", "a/../../x", "a//b", "", "a/./b", "a\\b", "C:x"] {
            assert!(tree.insert(bad, file("x")).is_err(), "{bad}");
        }
        let link = |target: &str| Leaf::Link { target: target.to_owned() };
        assert!(tree.insert("a/in", link("../b")).is_ok());
        assert!(tree.insert("a/out", link("../../b")).is_err());
        assert!(tree.insert("abs", link("/etc")).is_err());
    }

    #[test]
    fn a_path_is_a_file_or_a_folder_but_not_both() {
        let mut tree = Tree::default();
        tree.insert("a/b", file("x")).expect("fits");
        assert!(tree.insert("a", file("x")).is_err());
        assert!(tree.insert("a/b/c", file("x")).is_err());
        assert!(tree.insert("a/b", file("y")).is_err());
    }
}

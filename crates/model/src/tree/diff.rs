//! What changed from one tree to the next.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Leaf, Tree};
use crate::digest::Digest;

/// One difference between two trees, as a plan or a diff shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: String,
    pub change: FileChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_after: Option<u64>,
    /// What the file held, and holds; none for links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// Line by line, in the form of `diff -u`, where both sides are text and it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Added,
    Changed,
    Removed,
    /// Same bytes, other executable bit.
    Mode,
}

/// What changed from one tree to the next, by path.
pub fn diff(before: &Tree, after: &Tree) -> Vec<FileChange> {
    let file = |leaf: &Leaf| match leaf {
        Leaf::File(file) => Some(*file),
        Leaf::Link { .. } => None,
    };
    let found = |path: &str, change, old: Option<&Leaf>, new: Option<&Leaf>| {
        let (old, new) = (old.and_then(file), new.and_then(file));
        FileChange {
            path: path.to_owned(),
            change,
            size_before: old.map(|file| file.size),
            size_after: new.map(|file| file.size),
            before: old.map(|file| file.digest),
            after: new.map(|file| file.digest),
            text: None,
        }
    };
    let mut changes = Vec::new();
    for (path, old) in &before.leaves {
        let new = after.leaves.get(path);
        let change = match (old, new) {
            (_, None) => FileChangeKind::Removed,
            (old, Some(new)) if old == new => continue,
            (Leaf::File(old), Some(Leaf::File(new))) if old.digest == new.digest => FileChangeKind::Mode,
            _ => FileChangeKind::Changed,
        };
        changes.push(found(path, change, Some(old), new));
    }
    for (path, new) in &after.leaves {
        if !before.leaves.contains_key(path) {
            changes.push(found(path, FileChangeKind::Added, None, Some(new)));
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

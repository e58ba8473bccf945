//! What changed from one tree to the next.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Leaf, Tree};

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
    let size = |leaf: &Leaf| match leaf {
        Leaf::File(file) => Some(file.size),
        Leaf::Link { .. } => None,
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
        changes.push(FileChange { path: path.clone(), change, size_before: size(old), size_after: new.and_then(size) });
    }
    for (path, new) in &after.leaves {
        if !before.leaves.contains_key(path) {
            let change = FileChangeKind::Added;
            changes.push(FileChange { path: path.clone(), change, size_before: None, size_after: size(new) });
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

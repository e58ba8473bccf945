//! The differences between two trees.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FileEntry, Leaf, Tree};
use crate::digest::Digest;

/// One difference between two trees, for plans and diffs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: String,
    pub change: FileChangeKind,
    /// The previous path of a moved file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_after: Option<u64>,
    /// The digests of the file's content; none for links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// The targets of a link; none for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_after: Option<String>,
    /// Whether the file is executable now; set only if that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// A unified diff as written by `diff -u` and `git diff`, with three lines of context and the
    /// names `a/PATH` and `b/PATH` (or `/dev/null`), so that `patch -p1` accepts it. Only on
    /// request, and only for text files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why a requested `text` is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_omitted: Option<TextOmitted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Added,
    Changed,
    Removed,
    /// Same bytes, different path.
    Moved,
    /// Same bytes, different executable bit.
    Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextOmitted {
    /// One side is not text.
    Binary,
    /// One side is too large for a line-by-line diff.
    Large,
    /// The diffs of earlier files have used up the size limit of the response.
    Limit,
}

/// Returns the differences between two trees, sorted by path.
pub fn diff(before: &Tree, after: &Tree) -> Vec<FileChange> {
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
    changes = with_moves(changes, before);
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

fn found(path: &str, change: FileChangeKind, old: Option<&Leaf>, new: Option<&Leaf>) -> FileChange {
    let (old_file, new_file) = (old.and_then(file), new.and_then(file));
    let was_executable = old_file.is_some_and(|file| file.executable);
    FileChange {
        path: path.to_owned(),
        change,
        moved_from: None,
        size_before: old_file.map(|file| file.size),
        size_after: new_file.map(|file| file.size),
        before: old_file.map(|file| file.digest),
        after: new_file.map(|file| file.digest),
        link_before: old.and_then(link),
        link_after: new.and_then(link),
        executable: new_file.map(|file| file.executable).filter(|executable| *executable != was_executable),
        text: None,
        text_omitted: None,
    }
}

fn file(leaf: &Leaf) -> Option<FileEntry> {
    match leaf {
        Leaf::File(file) => Some(*file),
        Leaf::Link { .. } => None,
    }
}

fn link(leaf: &Leaf) -> Option<String> {
    match leaf {
        Leaf::File(_) => None,
        Leaf::Link { target } => Some(target.clone()),
    }
}

/// Combines a removed and an added file with the same bytes into one move.
fn with_moves(changes: Vec<FileChange>, before: &Tree) -> Vec<FileChange> {
    let moves = moves(&changes);
    let sources: HashSet<&String> = moves.values().collect();
    let stays = |change: &FileChange| change.change != FileChangeKind::Removed || !sources.contains(&change.path);
    let mut kept: Vec<FileChange> = changes.into_iter().filter(stays).collect();
    for change in kept.iter_mut().filter(|change| change.change == FileChangeKind::Added) {
        let Some(from) = moves.get(&change.path) else { continue };
        let old = before.leaves.get(from).and_then(file);
        change.change = FileChangeKind::Moved;
        change.moved_from = Some(from.clone());
        change.size_before = old.map(|old| old.size);
        change.before = old.map(|old| old.digest);
        let was_executable = old.is_some_and(|old| old.executable);
        let is_executable = change.executable == Some(true);
        change.executable = (was_executable != is_executable).then_some(is_executable);
    }
    kept
}

/// Maps each moved file to its previous path. Empty files are all equal, so they never count as
/// moved.
fn moves(changes: &[FileChange]) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    let mut taken: HashSet<&str> = HashSet::new();
    // Prefers a removed file with the same name, and falls back to any other with the same bytes.
    for same_name in [true, false] {
        let key = |digest: Digest, path| (digest, same_name.then(|| name(path)));
        let mut gone: HashMap<_, VecDeque<&str>> = HashMap::new();
        for change in changes {
            if let (FileChangeKind::Removed, Some(digest), Some(1..)) =
                (change.change, change.before, change.size_before)
                && !taken.contains(change.path.as_str())
            {
                gone.entry(key(digest, &change.path)).or_default().push_back(&change.path);
            }
        }
        for change in changes {
            if let (FileChangeKind::Added, Some(digest)) = (change.change, change.after)
                && !found.contains_key(&change.path)
                && let Some(from) = gone.get_mut(&key(digest, &change.path)).and_then(VecDeque::pop_front)
            {
                taken.insert(from);
                found.insert(change.path.clone(), from.to_owned());
            }
        }
    }
    found
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str, bool)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text, executable) in files {
            let entry =
                FileEntry { digest: Digest::of(text.as_bytes()), size: text.len() as u64, executable: *executable };
            tree.insert(path, Leaf::File(entry)).expect("fits");
        }
        tree
    }

    fn summary(before: &Tree, after: &Tree) -> Vec<(String, FileChangeKind, Option<String>, Option<bool>)> {
        let changes = diff(before, after).into_iter();
        changes.map(|change| (change.path, change.change, change.moved_from, change.executable)).collect()
    }

    #[test]
    fn the_same_bytes_at_another_path_are_a_move() {
        let before = tree(&[("a.txt", "one", false), ("b.txt", "two", false)]);
        let after = tree(&[("b.txt", "two", false), ("z/a.txt", "one", true)]);
        let expected = ("z/a.txt".to_owned(), FileChangeKind::Moved, Some("a.txt".to_owned()), Some(true));
        assert_eq!(summary(&before, &after), [expected]);
    }

    #[test]
    fn moves_prefer_equal_files_with_the_same_name() {
        let before = tree(&[("a/x", "one", false), ("a/y", "one", false)]);
        let after = tree(&[("b/new", "one", false), ("b/y", "one", false), ("c", "one", false)]);
        let moved = |path: &str, from: &str| (path.to_owned(), FileChangeKind::Moved, Some(from.to_owned()), None);
        let added = ("c".to_owned(), FileChangeKind::Added, None, None);
        assert_eq!(summary(&before, &after), [moved("b/new", "a/x"), moved("b/y", "a/y"), added]);
    }

    #[test]
    fn empty_files_are_never_moved() {
        let (before, after) = (tree(&[("a/__init__.py", "", false)]), tree(&[("b/__init__.py", "", false)]));
        let kinds: Vec<FileChangeKind> = diff(&before, &after).iter().map(|change| change.change).collect();
        assert_eq!(kinds, [FileChangeKind::Removed, FileChangeKind::Added]);
    }

    #[test]
    fn a_copy_is_not_a_move() {
        let before = tree(&[("a", "one", false)]);
        let after = tree(&[("a", "one", false), ("b", "one", false)]);
        assert_eq!(summary(&before, &after), [("b".to_owned(), FileChangeKind::Added, None, None)]);
    }

    #[test]
    fn changed_links_report_both_targets() {
        let mut before = tree(&[]);
        before.insert("current", Leaf::Link { target: "v1".to_owned() }).expect("fits");
        let mut after = tree(&[]);
        after.insert("current", Leaf::Link { target: "v2".to_owned() }).expect("fits");
        let change = diff(&before, &after).remove(0);
        assert_eq!(change.change, FileChangeKind::Changed);
        assert_eq!((change.link_before.as_deref(), change.link_after.as_deref()), (Some("v1"), Some("v2")));
    }

    #[test]
    fn changed_files_report_their_new_executable_bit() {
        let (before, after) = (tree(&[("run", "one", true)]), tree(&[("run", "two", false)]));
        assert_eq!(summary(&before, &after), [("run".to_owned(), FileChangeKind::Changed, None, Some(false))]);
        let after = tree(&[("run", "one", false)]);
        assert_eq!(summary(&before, &after), [("run".to_owned(), FileChangeKind::Mode, None, Some(false))]);
    }
}

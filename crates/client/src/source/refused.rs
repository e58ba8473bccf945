//! Collects everything in a folder that a scan would reject, so that users can fix it all at once.

use std::fs::{self, File};
use std::path::Path;

use milepost_model::digest::Digest;
use milepost_model::tree::{FileEntry, Leaf, Tree, TreeError};

use super::error::SourceError;
use super::options::SourceOptions;
use super::rules::{Folder, Rules, Verdict};
use super::walk::name_of;

/// Escaping chains of links are searched one after the other, up to this many.
const MOST_TOGETHER: usize = 100;

/// Returns everything below a folder at which a scan would stop: links that leave it, pipes and
/// sockets, invalid names, and unreadable entries. Empty if the path is not a folder. Files are
/// opened but not read.
pub fn refused(path: &Path, options: &SourceOptions) -> Vec<SourceError> {
    let Ok(rules) = Rules::of_folder(path, options) else { return Vec::new() };
    if !path.is_dir() {
        return Vec::new();
    }
    let mut found = Look { base: path, rules: &rules, leaves: Vec::new(), refused: Vec::new() };
    let mut folders = vec![rules.root()];
    while let Some(folder) = folders.pop() {
        match rules.enter(path, folder) {
            Ok(folder) => found.list(&folder, &mut folders),
            Err(error) => found.refused.push(error),
        }
    }
    let Look { leaves, mut refused, .. } = found;
    refused.extend(of_tree(leaves));
    refused
}

struct Look<'a> {
    base: &'a Path,
    rules: &'a Rules,
    leaves: Vec<(String, Leaf)>,
    refused: Vec<SourceError>,
}

impl Look<'_> {
    fn list(&mut self, folder: &Folder, more: &mut Vec<Folder>) {
        let here = self.base.join(&folder.path);
        let entries = match fs::read_dir(&here) {
            Ok(entries) => entries,
            Err(error) => return self.refused.push(SourceError::unreadable(&here, error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.refused.push(SourceError::NameNotUtf8(entry.path().display().to_string()));
                continue;
            };
            let below = if folder.path.is_empty() { name.to_owned() } else { [&folder.path, "/", name].concat() };
            // The entry was deleted in the meantime.
            let Ok(kind) = entry.file_type() else { continue };
            match self.rules.verdict(folder, &below, kind.is_dir()) {
                Verdict::Take => self.take(&entry, kind, below),
                Verdict::Enter { folder, .. } => more.push(folder),
                Verdict::No | Verdict::Ignored => {}
            }
        }
    }

    fn take(&mut self, entry: &fs::DirEntry, kind: fs::FileType, path: String) {
        let place = entry.path();
        if kind.is_file() {
            if let Err(error) = File::open(&place) {
                self.refused.push(SourceError::unreadable(&place, error));
            }
            let file = FileEntry { digest: Digest::of(b""), size: 0, executable: false };
            self.leaves.push((path, Leaf::File(file)));
        } else if kind.is_symlink() {
            let Ok(target) = fs::read_link(&place) else { return };
            match target.into_os_string().into_string() {
                Ok(target) => self.leaves.push((path, Leaf::Link { target })),
                Err(target) => {
                    let target = target.to_string_lossy().into_owned();
                    self.refused.push(SourceError::LinkLeaves { path, target });
                }
            }
        } else {
            let path = place.display().to_string();
            self.refused.push(SourceError::NotRegular { path, kind: name_of(kind) });
        }
    }
}

/// The errors of a tree with these entries.
fn of_tree(mut leaves: Vec<(String, Leaf)>) -> Vec<SourceError> {
    let mut refused = Vec::new();
    let mut tree = Tree::default();
    leaves.retain(|(path, leaf)| match tree.insert(path, leaf.clone()) {
        Ok(()) => true,
        Err(error) => {
            refused.push(SourceError::refused(path, error));
            false
        }
    });
    for _ in 0..MOST_TOGETHER {
        let Err(error) = tree.check_links() else { break };
        let TreeError::LinkEscapes { path: escapes, .. } = &error else {
            refused.push(SourceError::refused("the tree", error));
            break;
        };
        // Checks the remaining links without it.
        leaves.retain(|(path, _)| path != escapes);
        refused.push(SourceError::refused("the tree", error));
        tree = Tree::default();
        for (path, leaf) in &leaves {
            // Cannot fail: these entries were inserted before.
            let _ = tree.insert(path, leaf.clone());
        }
    }
    refused
}

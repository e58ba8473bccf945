//! Which file a path means.

use crate::tree::TreeFile;
use crate::view::Mount;

use super::path::below;

pub(crate) enum FileFound {
    File(TreeFile),
    /// The path is a folder with an index file, but lacks the slash at its end.
    Folder,
}

/// Looks for a decoded path, longest mount first: the file, or the index file of a folder.
pub(crate) fn find(mounts: &[Mount], path: &str) -> Option<FileFound> {
    mounts.iter().find_map(|mount| find_in(mount, path, below(path, &mount.path)?))
}

fn find_in(mount: &Mount, path: &str, rest: &str) -> Option<FileFound> {
    if let Some(single) = &mount.single {
        let itself = rest.is_empty() && *mount.path == *path;
        return if itself { mount.tree.find(single).map(FileFound::File) } else { None };
    }
    if let Some(file) = mount.tree.find(rest) {
        return Some(FileFound::File(file));
    }
    if mount.index.is_empty() {
        return None;
    }
    let folder = rest.strip_suffix('/').unwrap_or(rest);
    let index = if folder.is_empty() {
        mount.tree.find(&mount.index)?
    } else if mount.tree.is_folder(folder) {
        mount.tree.find(&format!("{folder}/{}", mount.index))?
    } else {
        return None;
    };
    Some(if path.ends_with('/') { FileFound::File(index) } else { FileFound::Folder })
}

/// What is sent when nothing else answers: the longest mount's single-page fallback, or its error page.
pub(crate) fn fallback(mounts: &[Mount], path: &str) -> Option<(TreeFile, bool)> {
    let stands_in = |mount: &&Mount| mount.single.is_none() || mount.fallback.is_some() || mount.error_page.is_some();
    let mount = mounts.iter().filter(stands_in).find(|mount| below(path, &mount.path).is_some())?;
    let page = |name: &Option<Box<str>>| name.as_deref().and_then(|name| mount.tree.find(name));
    if let Some(file) = page(&mount.fallback) {
        return Some((file, true));
    }
    page(&mount.error_page).map(|file| (file, false))
}

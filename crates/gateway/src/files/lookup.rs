//! Finds the file for a path.

use crate::tree::TreeFile;
use crate::view::Mount;

use super::clean;
use super::path::below;

pub(crate) enum FileFound<'m> {
    File(TreeFile, &'m Mount),
    /// The path is a directory with an index file, but lacks the trailing slash.
    Folder,
}

/// Looks up a decoded path, longest mount first: the file, or a directory's index file.
pub(crate) fn find<'m>(mounts: &'m [Mount], path: &str) -> Option<FileFound<'m>> {
    mounts.iter().find_map(|mount| find_in(mount, path, below(path, &mount.path)?))
}

fn find_in<'m>(mount: &'m Mount, path: &str, rest: &str) -> Option<FileFound<'m>> {
    let found = |file| FileFound::File(file, mount);
    if let Some(single) = &mount.single {
        let file = mount.tree.find(single).filter(|_| rest.is_empty() && *mount.path == *path)?;
        let is_named = mount.path.ends_with(&**single);
        return Some(found(if is_named { file } else { file.under_another_name() }));
    }
    if let Some(file) = mount.tree.find(rest) {
        return Some(found(file));
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
    let index = index.under_another_name();
    match path.ends_with('/') {
        true => Some(found(index)),
        false if !mount.clean => Some(FileFound::Folder),
        // Without the slash the page of this name takes precedence over the directory.
        false => (!clean::is_page(mount, folder)).then(|| found(index)),
    }
}

/// What to send when nothing else matches: the single-page fallback or the error page of the
/// longest mount.
pub(crate) fn fallback<'m>(mounts: &'m [Mount], path: &str) -> Option<(TreeFile, &'m Mount, bool)> {
    let stands_in = |mount: &&Mount| mount.single.is_none() || mount.fallback.is_some() || mount.error_page.is_some();
    let mount = mounts.iter().filter(stands_in).find(|mount| below(path, &mount.path).is_some())?;
    let page = |name: &Option<Box<str>>| {
        name.as_deref().and_then(|name| mount.tree.find(name)).map(TreeFile::under_another_name)
    };
    if let Some(file) = page(&mount.fallback) {
        return Some((file, mount, true));
    }
    page(&mount.error_page).map(|file| (file, mount, false))
}

//! Clean URLs: `/login` for `login.html`, in items that enable them.

use crate::tree::TreeFile;
use crate::view::Mount;

use super::path::below;

const ENDING: &str = ".html";

/// What a decoded path that matches no file leads to.
pub(crate) enum Clean<'m> {
    Page(TreeFile, &'m Mount),
    /// The same path without its trailing slash.
    WithoutSlash,
}

/// Looks for the page of a path, longest mount first.
pub(crate) fn page<'m>(mounts: &'m [Mount], path: &str) -> Option<Clean<'m>> {
    // `/login/`, `/login.html/`, `/index.html/`
    if let Some(plain) = path.strip_suffix('/').filter(|plain| !plain.is_empty()) {
        let is_file = |mount: &Mount, rest: &str| mount.tree.find(rest).is_some() || find_in(mount, rest).is_some();
        let found = clean_below(mounts, plain).find(|(mount, rest)| is_file(mount, rest));
        return found.map(|_| Clean::WithoutSlash);
    }
    clean_below(mounts, path).find_map(|(mount, rest)| Some(Clean::Page(find_in(mount, rest)?, mount)))
}

/// Returns the clean form of a path that names a page's file: `/login` for `/login.html`, `/docs/`
/// for `/docs/index.html`. `None` when the path is clean already.
pub(crate) fn clean_path<'p>(mount: &Mount, path: &'p str) -> Option<&'p str> {
    if !mount.clean || mount.single.is_some() {
        return None;
    }
    let (folder, name) = path.split_at(path.rfind('/')? + 1);
    if name == mount.index {
        return Some(folder);
    }
    path.strip_suffix(ENDING).filter(|page| !page.ends_with('/'))
}

/// Whether a directory's path is also the path of a page, which is looked up after the routes.
pub(super) fn is_page(mount: &Mount, folder: &str) -> bool {
    find_in(mount, folder).is_some()
}

fn find_in(mount: &Mount, rest: &str) -> Option<TreeFile> {
    let is_name = !rest.is_empty() && !rest.ends_with('/');
    if is_name { mount.tree.find(&format!("{rest}{ENDING}")) } else { None }
}

fn clean_below<'m, 'p>(mounts: &'m [Mount], path: &'p str) -> impl Iterator<Item = (&'m Mount, &'p str)> {
    mounts
        .iter()
        .filter(|mount| mount.clean && mount.single.is_none())
        .filter_map(move |mount| Some((mount, below(path, &mount.path)?)))
}

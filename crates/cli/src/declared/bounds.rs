//! How far the files of a folder may reach. Whoever deploys a folder that somebody else wrote must not publish more than it.

use std::path::{Path, PathBuf};

use super::{Declared, FileSet, Place, Problem};

/// Units whose files lie outside of the folder, each with its line. The bound is the folder of the manifest, or the parent of
/// the specs; in a git repository it is the repository's root. Links are resolved before.
pub fn outside(declared: &Declared) -> Vec<Problem> {
    let start = declared.project();
    let Ok(start) = here(&start).canonicalize() else { return Vec::new() };
    let repository = start.ancestors().find(|folder| folder.join(".git").exists());
    let bound = repository.unwrap_or(&start);
    let mut found: Vec<Problem> = Vec::new();
    for unit in &declared.units {
        for (_, files) in &unit.trees {
            let FileSet::Files(selection) = files else { continue };
            let place = declared.file_places.get(files).unwrap_or(&unit.place);
            let known = found.iter().any(|known| known.place == *place);
            if !known && let Some(problem) = beyond(bound, repository.is_some(), &selection.root, place) {
                found.push(problem);
            }
        }
    }
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}

/// The same, and nobody looks at these files any more: what is wrong with them is no matter of the folder.
pub fn take_outside(declared: &mut Declared) -> Vec<Problem> {
    let found = outside(declared);
    let (places, units) = (&declared.file_places, &mut declared.units);
    for unit in units {
        let own = &unit.place;
        unit.trees.retain(|(_, files)| {
            let place = places.get(files).unwrap_or(own);
            found.iter().all(|problem| problem.place != *place)
        });
    }
    found
}

fn beyond(bound: &Path, is_repository: bool, root: &Path, place: &Place) -> Option<Problem> {
    // What is not there is told elsewhere.
    let full = here(root).canonicalize().ok()?;
    let shown = root.display();
    let message = match full.strip_prefix(bound) {
        Ok(inside) if inside.components().any(|part| part.as_os_str() == ".git") => {
            format!("`{shown}` is in `.git`, which holds the history of the repository")
        }
        Ok(_) => return None,
        Err(_) => {
            let bound = if is_repository { "the git repository" } else { "the folder" };
            let leads = if lexical(root) == full { String::new() } else { format!(", which is `{}`,", full.display()) };
            format!("`{shown}`{leads} is outside of {bound} that is deployed")
        }
    };
    let hint = "copy what you need into the folder, or allow it with `--allow-outside` if you know who wrote this file";
    Some(Problem { place: place.clone(), message, hint: Some(hint.to_owned()) })
}

/// The path as it is written, from the root.
fn lexical(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The empty path is the current folder.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Declared {
    /// Where its paths start: the folder of the manifest, or the parent of the specs.
    pub fn project(&self) -> PathBuf {
        if self.origin.is_dir() { super::fission::project_of(&self.origin) } else { self.folder.clone() }
    }

    /// Leaves the documents themselves out of all that is deployed. A change in them would make new versions of packages, and
    /// a static item of the whole folder would publish them.
    pub(super) fn without_documents(mut self) -> Self {
        let own = if self.origin.is_dir() {
            vec![(self.origin.clone(), "**/*.yaml".to_owned()), (self.origin.clone(), "**/*.yml".to_owned())]
        } else {
            let name = self.origin.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let mut names = vec![name, super::manifest::FILE_NAME.to_owned()];
            names.dedup();
            names.into_iter().map(|name| (self.folder.clone(), escaped(&name))).collect()
        };
        let own: Vec<(PathBuf, String)> =
            own.into_iter().filter_map(|(folder, name)| Some((here(&folder).canonicalize().ok()?, name))).collect();
        let leave_out = |files: &mut FileSet| {
            let FileSet::Files(selection) = files else { return };
            let Ok(root) = here(&selection.root).canonicalize() else { return };
            let below = own.iter().filter_map(|(folder, name)| {
                let folder = folder.strip_prefix(&root).ok()?.to_str()?;
                Some(if folder.is_empty() { format!("/{name}") } else { format!("/{}/{name}", escaped(folder)) })
            });
            selection.documents = below.collect();
        };
        self.units.iter_mut().flat_map(|unit| &mut unit.trees).for_each(|(_, files)| leave_out(files));
        self.file_places = self
            .file_places
            .into_iter()
            .map(|(mut files, place)| {
                leave_out(&mut files);
                (files, place)
            })
            .collect();
        self
    }
}

/// A name as a pattern that fits only it.
fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '[' | '{' | '}' | '\\') {
            pattern.extend(['[', letter, ']']);
        } else {
            pattern.push(letter);
        }
    }
    pattern
}

//! Limits the files that a folder may refer to. Deploying a folder from another author must not
//! publish files outside of it.

use std::path::{Path, PathBuf};

use super::{Declared, FileSet, Next, Place, Problem};

/// Folders of the deploying user that are no project.
#[derive(Debug, Clone, Default)]
pub struct Private {
    pub home: Option<PathBuf>,
    /// The data folder of a server on this machine.
    pub data: Option<PathBuf>,
}

impl Private {
    fn resolved(&self) -> Self {
        let real = |folder: &Option<PathBuf>| folder.as_ref().and_then(|folder| folder.canonicalize().ok());
        Self { home: real(&self.home), data: real(&self.data) }
    }

    /// Whether a git repository is not one project: some users keep their settings in one with the
    /// home directory as its root.
    fn is_inside(&self, root: &Path) -> bool {
        root.parent().is_none() || [&self.home, &self.data].into_iter().flatten().any(|folder| folder.starts_with(root))
    }
}

/// Returns an error for each unit whose files are outside of the folder. The bound is the folder of
/// the manifest or the parent of the specs; in a git repository it is the root of the repository,
/// unless private folders are in it. Symbolic links are resolved first.
pub fn outside(declared: &Declared, private: &Private) -> Vec<Problem> {
    let start = declared.project();
    let Ok(start) = here(&start).canonicalize() else { return Vec::new() };
    let private = private.resolved();
    let repository = start.ancestors().find(|folder| folder.join(".git").exists());
    let repository = repository.filter(|root| *root == start || !private.is_inside(root));
    let bound = Bound {
        folder: repository.unwrap_or(&start),
        is_repository: repository.is_some(),
        data: private.data.as_deref(),
    };
    let mut found: Vec<Problem> = Vec::new();
    for unit in &declared.units {
        for (_, files) in &unit.trees {
            let FileSet::Files(selection) = files else { continue };
            let place = declared.file_places.get(files).unwrap_or(&unit.place);
            let known = found.iter().any(|known| known.place == *place);
            if !known && let Some(problem) = beyond(&bound, &selection.root, place) {
                found.push(problem);
            }
        }
    }
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}

/// Like [`outside`], and also removes these files from the units, so that nothing reads them.
pub fn take_outside(declared: &mut Declared, private: &Private) -> Vec<Problem> {
    let found = outside(declared, private);
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

struct Bound<'a> {
    folder: &'a Path,
    is_repository: bool,
    data: Option<&'a Path>,
}

fn beyond(bound: &Bound<'_>, root: &Path, place: &Place) -> Option<Problem> {
    // Missing files are reported elsewhere.
    let full = here(root).canonicalize().ok()?;
    let shown = root.display();
    let message = match full.strip_prefix(bound.folder) {
        Ok(_) if bound.data.is_some_and(|data| full.starts_with(data)) => {
            format!("`{shown}` is in the data folder of a Milepost server")
        }
        Ok(inside) if inside.components().any(|part| part.as_os_str() == ".git") => {
            format!("`{shown}` is in `.git`, which contains the history of the repository")
        }
        Ok(_) => return None,
        Err(_) => {
            let bound = if bound.is_repository { "the git repository" } else { "the folder" };
            let leads = if lexical(root) == full { String::new() } else { format!(" (`{}`)", full.display()) };
            format!("`{shown}`{leads} is outside of {bound} being deployed")
        }
    };
    Some(Problem::new(place.clone(), message, None).next(Next::AllowOutside))
}

/// The absolute path, without resolving links.
fn lexical(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Declared {
    /// The directory that paths are relative to: that of the manifest, or the parent of the specs.
    pub fn project(&self) -> PathBuf {
        if self.origin.is_dir() { super::fission::project_of(&self.origin) } else { self.folder.clone() }
    }

    /// Excludes the declaring documents from everything that is deployed. Otherwise a change in
    /// them would create new versions of packages, and a static item of the whole folder would
    /// publish them.
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

/// Escapes a name into a pattern that matches only this name.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_around_private_folders_is_no_project() {
        let private = Private { home: Some("/users/ann".into()), data: Some("/srv/milepost".into()) };
        for root in ["/", "/users", "/users/ann", "/srv", "/srv/milepost"] {
            assert!(private.is_inside(Path::new(root)), "{root}");
        }
        for root in ["/users/ann/shop", "/srv/shop", "/users/annika"] {
            assert!(!private.is_inside(Path::new(root)), "{root}");
        }
        assert!(Private::default().is_inside(Path::new("/")));
    }
}

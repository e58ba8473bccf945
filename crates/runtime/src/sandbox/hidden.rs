//! Files that no worker may see. Finds out whether they are in a directory that workers can see.

use std::path::{Path, PathBuf};

use super::Ability;
use super::root::{ETC, SYSTEM};

/// The real paths of the files, with symlinks resolved. Omits files that do not exist.
pub(super) fn real_paths(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<_> = files.iter().filter_map(|file| file.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns a warning if a file is in a directory that workers can see, else `None`.
pub(super) fn warning(file: &Path, namespaces: bool) -> Option<Ability> {
    let real = file.canonicalize().ok()?;
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    let shown =
        SYSTEM.iter().map(PathBuf::from).chain(etc).filter_map(|folder| Some((folder.canonicalize().ok()?, folder)));
    let (_, folder) = shown.into_iter().find(|(folder, _)| real.starts_with(folder))?;
    let kept = if namespaces {
        "it is covered there, but one that is put in its place is not until the workers are started again"
    } else {
        "without namespaces it is not covered there"
    };
    Some(Ability::no(
        "private key",
        format!(
            "{} lies in {}, which workers are shown; {kept}; move it, into the data folder for one",
            file.display(),
            folder.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_of_a_file_in_a_folder_that_workers_see() {
        let shown =
            std::fs::read_dir("/usr/bin").unwrap().flatten().map(|entry| entry.path()).find(|path| path.is_file());
        let said = warning(&shown.unwrap(), true).expect("a warning").detail;
        assert!(said.contains("lies in") && said.contains("move it"), "{said}");
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(warning(elsewhere.path(), true), None);
        assert_eq!(warning(Path::new("/no/such/key.pem"), true), None);
    }
}

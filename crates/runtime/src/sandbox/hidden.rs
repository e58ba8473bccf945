//! Files and directories that no worker may see, and whether they are in a directory that workers
//! can see.

use std::path::{Path, PathBuf};

use milepost_model::spec::Runtime;

use super::Ability;
use super::interpreters::{Interpreter, InterpreterError};
use super::root::{ETC, SYSTEM};

/// The real paths, with symlinks resolved. Omits what does not exist.
pub(super) fn real_paths(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<_> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// The home directories of the server's user, with symlinks resolved.
pub(super) fn homes() -> Vec<PathBuf> {
    let named = std::env::var_os("HOME").map(PathBuf::from);
    let of_user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|user| user.dir);
    let mut homes = real_paths(&named.into_iter().chain(of_user).collect::<Vec<_>>());
    // A service user may have `/` as its home. It contains nothing of a person then.
    homes.retain(|home| home.parent().is_some());
    homes
}

/// Returns why workers must not see a path, or `None` if they may: `hidden` and `homes` are real
/// paths. A directory above a hidden one may be shown where the hidden one is `left_out` of it.
pub(super) fn refusal(path: &Path, hidden: &[PathBuf], homes: &[PathBuf], left_out: bool) -> Option<&'static str> {
    let real = path.canonicalize().ok()?;
    if real.parent().is_none() {
        Some("is the root directory")
    } else if hidden.iter().any(|hidden| real.starts_with(hidden)) {
        Some("belongs to the server")
    } else if !left_out && hidden.iter().any(|hidden| hidden.starts_with(&real)) {
        Some("contains files of the server")
    } else if homes.iter().any(|home| home.starts_with(&real)) {
        Some("contains the home directory of the server's user")
    } else {
        None
    }
}

/// Rejects an interpreter that needs a path which workers must not see.
pub(super) fn check(
    runtime: Runtime,
    interpreter: &Interpreter,
    refusal: impl Fn(&Path) -> Option<&'static str>,
) -> Result<(), InterpreterError> {
    let needed = interpreter.readable.iter().chain([&interpreter.program]);
    match needed.into_iter().find_map(|path| Some((path, refusal(path)?))) {
        None => Ok(()),
        Some((path, why)) => Err(InterpreterError::Exposing {
            runtime,
            program: interpreter.program.display().to_string(),
            folder: path.display().to_string(),
            why,
        }),
    }
}

/// What to show instead of a directory so that nothing hidden is below it: the directory itself, or
/// the entries of it and of the directories on the way to what is hidden. Symlinks are left out:
/// their targets are shown at their own place.
pub(super) fn around(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(real) = path.canonicalize() else { return Vec::new() };
    if hidden.iter().any(|hidden| real.starts_with(hidden)) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&real)) {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(&real).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| around(&entry.path(), hidden)).collect()
}

/// Returns a warning if a file is in a directory that workers can see, else `None`. `closed` means
/// that the sandbox keeps workers from opening it there.
pub(super) fn warning(file: &Path, closed: bool) -> Option<Ability> {
    let real = file.canonicalize().ok()?;
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    let shown =
        SYSTEM.iter().map(PathBuf::from).chain(etc).filter_map(|folder| Some((folder.canonicalize().ok()?, folder)));
    let (_, folder) = shown.into_iter().find(|(folder, _)| real.starts_with(folder))?;
    // A directory stays covered whatever is put into it.
    if real.is_dir() && closed {
        return None;
    }
    let (name, kept) = match (real.is_dir(), closed) {
        (false, true) => (
            "private key",
            "it is covered there, but one that is put in its place is not until the workers are started again",
        ),
        (false, false) => ("private key", "without namespaces and Landlock it is not covered there"),
        (true, _) => ("data folder", "without namespaces and Landlock it is not covered there"),
    };
    let place = if real.is_dir() { "" } else { ", into the data folder for one" };
    Some(Ability::no(
        name,
        format!("{} lies in {}, which workers are shown; {kept}; move it{place}", file.display(), folder.display()),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let said = warning(Path::new("/usr/lib"), false).expect("a warning");
        assert!(said.name == "data folder" && said.detail.contains("not covered"), "{said:?}");
        assert_eq!(warning(Path::new("/usr/lib"), true), None);
    }

    #[test]
    fn refuses_what_contains_a_home_or_hidden_files() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().canonicalize().unwrap().join(name);
        for folder in ["home/.local/share/data/run", "home/.local/lib", "opt/lib"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(path("home"), path("opt/link")).unwrap();
        let (hidden, homes) = ([path("home/.local/share/data")], [path("home")]);
        let refuses = |name: &str, left_out| refusal(&path(name), &hidden, &homes, left_out).is_some();
        for name in ["", "home", "opt/link", "home/.local/share/data", "home/.local/share/data/run"] {
            assert!(refuses(name, true) && refuses(name, false), "{name} may be shown");
        }
        for name in ["home/.local", "home/.local/share", "opt/link/.local"] {
            assert!(!refuses(name, true) && refuses(name, false), "{name}");
        }
        for name in ["home/.local/lib", "opt/lib", "opt"] {
            assert!(!refuses(name, true) && !refuses(name, false), "{name} may not be shown");
        }
        assert!(refusal(Path::new("/"), &[], &[], true).is_some());
    }

    #[test]
    fn lists_what_is_around_hidden_files() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().canonicalize().unwrap().join(name);
        for folder in ["a", "b/c/data/run", "b/d"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("b/key"), "").unwrap();
        std::os::unix::fs::symlink(path("b/c/data"), path("b/link")).unwrap();
        let hidden = [path("b/c/data"), path("b/key")];
        let mut shown = around(&path(""), &hidden);
        shown.sort();
        assert_eq!(shown, [path("a"), path("b/d")]);
        assert_eq!(around(&path("a"), &hidden), [path("a")]);
        assert!(around(&path("b/c/data/run"), &hidden).is_empty());
    }
}

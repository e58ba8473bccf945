//! Paths in a manifest.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use milepost_client::source::fits;

/// Makes a path absolute, without `.` and `..`. Links are not resolved, to keep the path that the
/// user chose.
pub fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let mut whole = PathBuf::new();
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    Ok(whole)
}

/// The relative path between two absolute paths, separated by `/`. None if it is not UTF-8.
pub fn relative(folder: &Path, path: &Path) -> Option<String> {
    let shared = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Some(".."));
    let down = path.components().skip(shared).map(|name| OsStr::to_str(name.as_os_str()));
    let names: Option<Vec<&str>> = up.chain(down).collect();
    let names = names?;
    Some(if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

/// Whether `include` matches a file, given relative to where the patterns start.
pub fn takes(include: &[String], path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    include.is_empty() || include.iter().any(|pattern| fit(&parts(pattern), &names))
}

fn parts(pattern: &str) -> Vec<&str> {
    pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// A pattern that matches a folder includes everything below it.
fn fit(parts: &[&str], names: &[&str]) -> bool {
    match (parts, names) {
        ([], _) => true,
        (_, []) => false,
        (["**", rest @ ..], [_, below @ ..]) => fit(rest, names) || fit(parts, below),
        ([part, rest @ ..], [name, below @ ..]) => (part == name || fits(part, name)) && fit(rest, below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_of_the_manifest() {
        for (folder, path, expected) in [
            ("/a/b", "/a/b", "."),
            ("/a/b", "/a/b/c/d", "c/d"),
            ("/a/b", "/a/c", "../c"),
            ("/a/b/c", "/d", "../../../d"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(path)).as_deref(), Some(expected), "{folder} {path}");
        }
        assert_eq!(absolute(Path::new("/a/./b/../c")).expect("a path"), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("")).ok(), std::env::current_dir().ok());
    }

    #[test]
    fn matches_files_like_include() {
        let takes = |patterns: &[&str], path: &str| {
            super::takes(&patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>(), path)
        };
        for patterns in [&[][..], &["**"], &["*"], &["*.yaml"], &["./milepost.yaml"], &["x", "**/*.yaml"]] {
            assert!(takes(patterns, "milepost.yaml"), "{patterns:?}");
        }
        for patterns in [&["*.py"][..], &["a/*.yaml"], &["milepost.yaml/x"]] {
            assert!(!takes(patterns, "milepost.yaml"), "{patterns:?}");
        }
        assert!(takes(&["imported"], "imported/x/main.py") && takes(&["*/x/"], "imported/x/main.py"));
        assert!(!takes(&["*.py"], "imported/x/main.py"));
    }
}

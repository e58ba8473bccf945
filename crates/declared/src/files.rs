//! The files of a unit: turns declared paths and patterns into a selection to scan.

use std::path::{Component, Path, PathBuf};

use milepost_client::source::{self, SourceError, SourceOptions, Unmatched, is_plain};

use super::Selection;
use super::problems::Sink;

/// Leftovers of editors, interpreters and desktops. They never belong to an app, and would create
/// versions while a user edits files.
pub const LITTER: [&str; 9] = ["__pycache__/", "*.pyc", "*.swp", "*.swx", "*.swo", "*~", ".#*", ".DS_Store", "4913"];

impl Selection {
    /// The scan options, with the litter excluded.
    pub fn options(&self) -> SourceOptions {
        let litter = LITTER.iter().map(|&pattern| pattern.to_owned());
        SourceOptions {
            include: self.include.clone(),
            exclude: self.exclude.iter().chain(&self.documents).cloned().chain(litter).collect(),
            gitignore: self.gitignore,
            keep_archives: self.keep_archives,
            ..SourceOptions::default()
        }
    }
}

/// Patterns as written, each with its line.
pub type Patterns = Vec<(String, u64)>;

/// Selects files below `root` by patterns relative to it. The tree starts at the deepest folder
/// that all `include` patterns share before their first wildcard, so its layout depends on the
/// declaration and not on which files exist. Reports invalid patterns with their lines; the
/// returned flag is false if there were any.
pub fn select(sink: &Sink<'_>, what: &str, root: &Path, include: &Patterns, exclude: &Patterns) -> (Selection, bool) {
    let whole: Vec<Vec<&str>> = include.iter().map(|(pattern, _)| names(pattern)).collect();
    if let [only] = whole.as_slice()
        && only.iter().all(|name| is_plain(name))
        && root.join(only.join("/")).is_file()
    {
        // A single named file: an archive is unpacked, any other file is a tree with one file.
        let right = check_alone(sink, what, include, exclude);
        let (root, include, exclude) = (joined(root, only), Vec::new(), Vec::new());
        let documents = Vec::new();
        return (Selection { root, include, exclude, documents, keep_archives: false, gitignore: true }, right);
    }
    let common = common_folder(root, include, &whole);
    let selection = Selection {
        root: joined(root, &common),
        include: whole.iter().map(|names| below(names, common.len())).collect(),
        exclude: exclude.iter().flat_map(|(pattern, _)| rebased(pattern, &common)).collect(),
        documents: Vec::new(),
        keep_archives: false,
        gitignore: true,
    };
    let right = check(sink, what, &selection, root, (include, exclude));
    (selection, right)
}

/// Reports invalid patterns of a selection, and returns whether all are valid. `include` and
/// `exclude` are as written, relative to `start`.
pub fn check(
    sink: &Sink<'_>,
    what: &str,
    selection: &Selection,
    start: &Path,
    (include, exclude): (&Patterns, &Patterns),
) -> bool {
    let mut options = selection.options();
    let broken = source::broken_patterns(&options);
    for error in &broken {
        let SourceError::Pattern { list, pattern, reason } = error else { continue };
        let (patterns, used) =
            if *list == "include" { (include, &selection.include) } else { (exclude, &selection.exclude) };
        // Drop it, so that the other patterns can still be checked.
        let rest = if *list == "include" { &mut options.include } else { &mut options.exclude };
        rest.retain(|other| other != pattern);
        let (pattern, line) = written(patterns, used, pattern);
        sink.wrong(line, format!("`{list}` of {what}: invalid pattern `{pattern}`: {reason}"));
    }
    if options.include.is_empty() {
        return broken.is_empty();
    }
    let nothing = |pattern: &str, line: u64, hint: String| {
        sink.wrong_hint(line, format!("`include` of {what}: no files match `{pattern}`"), hint);
    };
    if !selection.root.is_dir() {
        for pattern in &options.include {
            let (pattern, line) = written(include, &selection.include, pattern);
            nothing(&pattern, line, format!("folder `{}` does not exist", selection.root.display()));
        }
        return false;
    }
    match source::unmatched(&selection.root, &options) {
        Ok(unmatched) => {
            let right = broken.is_empty() && unmatched.is_empty();
            for Unmatched { pattern, ignored } in unmatched {
                let (pattern, line) = written(include, &selection.include, &pattern);
                let hint = match ignored {
                    Some(path) => {
                        format!("an ignore file excludes `{path}`; add `!{path}` to a `.milepostignore` to include it")
                    }
                    None => format!("patterns are relative to `{}`", shown(start)),
                };
                nothing(&pattern, line, hint);
            }
            right
        }
        Err(error) => {
            let line = include.first().map_or(1, |(_, line)| *line);
            sink.wrong(line, format!("{what}: {error}"));
            false
        }
    }
}

/// Reports syntactically invalid patterns, when there is no folder to match them against.
pub fn check_alone(sink: &Sink<'_>, what: &str, include: &Patterns, exclude: &Patterns) -> bool {
    let texts = |patterns: &Patterns| patterns.iter().map(|(pattern, _)| pattern.clone()).collect();
    let options = SourceOptions { include: texts(include), exclude: texts(exclude), ..SourceOptions::default() };
    let broken = source::broken_patterns(&options);
    for error in &broken {
        let SourceError::Pattern { list, pattern, reason } = error else { continue };
        let patterns = if *list == "include" { include } else { exclude };
        let line = patterns.iter().find(|(text, _)| text == pattern).map_or(1, |(_, line)| *line);
        sink.wrong(line, format!("`{list}` of {what}: invalid pattern `{pattern}`: {reason}"));
    }
    broken.is_empty()
}

/// Returns an effective pattern as the user wrote it, and its line.
fn written(patterns: &Patterns, used: &[String], pattern: &str) -> (String, u64) {
    let same = patterns.iter().find(|(text, _)| text == pattern);
    let at = used.iter().position(|used| used == pattern).filter(|_| used.len() == patterns.len());
    let found = same.or_else(|| patterns.get(at?)).or(patterns.first());
    found.cloned().unwrap_or_else(|| (pattern.to_owned(), 1))
}

/// A path for messages; the empty path is the current directory.
pub fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}

/// Splits a pattern at slashes. A leading `./` is dropped; a trailing slash becomes an empty last
/// name.
fn names(pattern: &str) -> Vec<&str> {
    let body = pattern.strip_prefix('/').unwrap_or(pattern);
    let last = body.split('/').count() - 1;
    let says = |(at, name): &(usize, &str)| *name != "." && (!name.is_empty() || *at == last);
    let mut names: Vec<&str> = body.split('/').enumerate().filter(says).map(|(_, name)| name).collect();
    if body == "." || body.is_empty() {
        names = vec![""];
    }
    names
}

fn common_folder<'a>(root: &Path, include: &'a Patterns, whole: &[Vec<&'a str>]) -> Vec<&'a str> {
    if include.is_empty() {
        return Vec::new();
    }
    let folders = whole.iter().map(|names| {
        let plain = names.iter().take_while(|name| is_plain(name) && !name.is_empty()).count();
        // The last name is a file, unless a folder exists there: then the pattern means its
        // contents.
        let is_file = plain == names.len() && !root.join(names.join("/")).is_dir();
        &names[..if is_file { plain.saturating_sub(1) } else { plain }]
    });
    let shared = |one: &'_ [&'a str], other: &'_ [&'a str]| one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let mut common: Option<Vec<&'a str>> = None;
    for folder in folders {
        common = Some(match common {
            None => folder.to_vec(),
            Some(known) => known[..shared(&known, folder)].to_vec(),
        });
    }
    common.unwrap_or_default()
}

fn joined(root: &Path, names: &[&str]) -> PathBuf {
    let mut path = root.to_owned();
    for name in names.iter().filter(|name| !name.is_empty()) {
        // Collapses `a/..` for readable paths, which is only correct without links in between.
        let up = *name == ".." && matches!(path.components().next_back(), Some(Component::Normal(_)));
        if up {
            path.pop();
        } else {
            path.push(name);
        }
    }
    // A scan needs a non-empty path.
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

/// An `include` pattern without the names that became part of the root.
fn below(names: &[&str], depth: usize) -> String {
    let rest = &names[depth.min(names.len())..];
    if rest.iter().all(|name| name.is_empty()) { "**".to_owned() } else { rest.join("/") }
}

/// Rewrites an `exclude` pattern relative to a deeper folder. A pattern without a slash stays the
/// same; one that cannot match anything below that folder is dropped.
fn rebased(pattern: &str, folder: &[&str]) -> Vec<String> {
    let body = pattern.trim_end_matches('/');
    if folder.is_empty() || !body.trim_start_matches("./").contains('/') {
        return vec![pattern.to_owned()];
    }
    let parts: Vec<&str> = body.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut found = Vec::new();
    rebase(&parts, folder, &mut found);
    let slash = if pattern.ends_with('/') { "/" } else { "" };
    found.sort();
    found.dedup();
    found.into_iter().map(|rest| format!("/{rest}{slash}")).collect()
}

fn rebase(parts: &[&str], folder: &[&str], found: &mut Vec<String>) {
    match (parts, folder) {
        // The pattern excludes the folder itself, so everything in it.
        ([], _) => found.push("**".to_owned()),
        (parts, []) => found.push(parts.join("/")),
        (["**", rest @ ..], [_, deeper @ ..]) => {
            rebase(parts, deeper, found);
            rebase(rest, folder, found);
        }
        ([part, rest @ ..], [name, deeper @ ..]) => {
            if fits(part, name) {
                rebase(rest, deeper, found);
            }
        }
    }
}

/// Matches one name against one part of a pattern, by the rules of the scanner.
fn fits(part: &str, name: &str) -> bool {
    part == name || source::fits(part, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::problems::Problems;
    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        texts.iter().zip(1..).map(|(text, line)| ((*text).to_owned(), line)).collect()
    }

    /// Selects from a folder with these files. Returns the root relative to the folder, the paths
    /// in the tree, and the reported errors.
    fn selected(files: &[&str], include: &[&str], exclude: &[&str]) -> (String, Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, file).expect("a file");
        }
        let problems = Problems::default();
        let sink = problems.of_file(Path::new("a.yaml"));
        let (selection, right) = select(&sink, "archive `a`", folder.path(), &patterns(include), &patterns(exclude));
        let messages: Vec<String> = problems
            .into_parts()
            .0
            .into_iter()
            .map(|problem| format!("{}: {}", problem.place, problem.message))
            .collect();
        assert_eq!(right, messages.is_empty());
        let root = selection.root.strip_prefix(folder.path()).expect("below").display().to_string();
        let scanned = source::Source::open(&selection.root, &selection.options(), None);
        let paths = scanned
            .map(|scanned| scanned.tree().expect("a tree").iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>());
        (root, paths.unwrap_or_default(), messages)
    }

    #[track_caller]
    fn check(files: &[&str], include: &[&str], exclude: &[&str], root: &str, paths: &[&str]) {
        let (found_root, found, messages) = selected(files, include, exclude);
        assert_eq!(messages, [""; 0], "{include:?}");
        assert_eq!(found_root, root, "{include:?}");
        assert_eq!(found, paths, "{include:?}");
    }

    const FILES: [&str; 8] = [
        "hello/hello.py",
        "hello/build.sh",
        "hello/requirements.txt",
        "hello/tests/test_hello.py",
        "hello/lib/util.py",
        "lib/shared.py",
        "lib/data/x.json",
        "top.py",
    ];

    #[test]
    fn seed_003_archive_has_its_build_script_at_the_root() {
        let include = ["hello/*.py", "hello/*.sh", "hello/requirements.txt"];
        check(&FILES, &include, &[], "hello", &["build.sh", "hello.py", "requirements.txt"]);
    }

    #[test]
    fn root_is_the_deepest_common_folder() {
        check(&FILES, &["hello/*.py", "lib/*.py"], &[], "", &["hello/hello.py", "lib/shared.py"]);
        check(&FILES, &["hello/lib/*.py", "hello/lib/*.py"], &[], "hello/lib", &["util.py"]);
        check(&FILES, &["hello/lib/*.py", "hello/*.py"], &[], "hello", &["hello.py", "lib/util.py"]);
        check(&FILES, &["hello/**/*.py"], &[], "hello", &["hello.py", "lib/util.py", "tests/test_hello.py"]);
        check(&FILES, &["./lib/**"], &[], "lib", &["data/x.json", "shared.py"]);
        check(&FILES, &["*.py"], &[], "", &["top.py"]);
        check(&FILES, &["*/*.sh"], &[], "", &["hello/build.sh"]);
        check(&FILES, &["{hello,lib}/*.py"], &[], "", &["hello/hello.py", "lib/shared.py"]);
    }

    #[test]
    fn a_named_folder_is_the_root_with_or_without_trailing_slash() {
        check(&FILES, &["lib"], &[], "lib", &["data/x.json", "shared.py"]);
        check(&FILES, &["lib/"], &[], "lib", &["data/x.json", "shared.py"]);
        check(&FILES, &["lib/data", "lib/shared.py"], &[], "lib", &["data/x.json", "shared.py"]);
        check(&FILES, &["."], &["hello/", "lib/"], "", &["top.py"]);
    }

    #[test]
    fn a_single_file_is_a_tree_with_one_entry() {
        check(&FILES, &["hello/hello.py"], &[], "hello/hello.py", &["hello.py"]);
        check(&FILES, &["hello/hello.py", "hello/build.sh"], &[], "hello", &["build.sh", "hello.py"]);
    }

    #[test]
    fn exclude_patterns_are_relative_like_include_patterns() {
        let all = ["hello/**"];
        let rest = ["build.sh", "hello.py", "lib/util.py", "requirements.txt"];
        for exclude in ["hello/tests/**", "hello/tests/", "hello/tests", "*/tests/*.py", "**/test_*.py", "test_*.py"] {
            check(&FILES, &all, &[exclude], "hello", &rest);
        }
        let rest = ["build.sh", "lib/util.py", "requirements.txt", "tests/test_hello.py"];
        check(&FILES, &all, &["hello/hello.py"], "hello", &rest);
        // The pattern is for another folder.
        check(&FILES, &["hello/*.sh"], &["lib/*.sh"], "hello", &["build.sh"]);
    }

    #[test]
    fn reports_unmatched_and_invalid_patterns_with_their_lines() {
        let (_, _, messages) = selected(&FILES, &["hello/*.py", "hello/*.rb"], &[]);
        assert_eq!(messages, ["a.yaml:2: `include` of archive `a`: no files match `hello/*.rb`"]);
        let (_, _, messages) = selected(&FILES, &["helo/*.py"], &[]);
        assert_eq!(messages, ["a.yaml:1: `include` of archive `a`: no files match `helo/*.py`"]);
        let (_, _, messages) = selected(&FILES, &["hello/[a.py"], &[]);
        assert_eq!(messages.len(), 1);
        assert!(
            messages[0].starts_with("a.yaml:1: `include` of archive `a`: invalid pattern `hello/[a.py`:"),
            "{messages:?}"
        );
        let (_, _, messages) = selected(&FILES, &["hello/*.py"], &["[a"]);
        assert!(messages[0].starts_with("a.yaml:1: `exclude` of archive `a`: invalid pattern `[a`:"), "{messages:?}");
        let (_, _, messages) = selected(&FILES, &["hello/*.py", "../up/*.py"], &[]);
        assert!(
            messages[0].starts_with("a.yaml:2: `include` of archive `a`: invalid pattern `../up/*.py`:"),
            "{messages:?}"
        );
    }
}

//! Which files of a folder are taken: `include`, `.gitignore`, `.milepostignore`, and their
//! interaction.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::fs::{self, Permissions};
use std::io::{Cursor, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use milepost_client::source::{Source, SourceError, SourceOptions, Unmatched, unmatched};
use milepost_model::digest::Digest;
use milepost_model::tree::Leaf;
use tempfile::TempDir;

/// A folder with these files. Text after `=` is the content, with `|` for line breaks; otherwise
/// the content is the path.
struct Stage(TempDir);

impl Stage {
    fn new(files: &[&str]) -> Self {
        let stage = Self(TempDir::new().expect("temporary folder"));
        for file in files {
            let (path, text) = file.split_once('=').unwrap_or((file, file));
            let place = stage.path(path);
            fs::create_dir_all(place.parent().expect("below the base")).expect("folders");
            fs::write(place, text.replace('|', "\n")).expect("file");
        }
        stage
    }

    /// Like `new`, but the root of a git repository.
    fn repository(files: &[&str]) -> Self {
        let stage = Self::new(files);
        fs::create_dir(stage.path(".git")).expect("folder");
        stage
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }
}

fn options(include: &[&str], exclude: &[&str]) -> SourceOptions {
    let texts = |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    SourceOptions { include: texts(include), exclude: texts(exclude), gitignore: true, ..SourceOptions::default() }
}

fn paths(source: &Source) -> Vec<&str> {
    source.tree().expect("a tree").iter().map(|(path, _)| path).collect()
}

#[track_caller]
fn check(root: &Path, options: &SourceOptions, expected: &[&str]) -> Source {
    let source = Source::open(root, options, None).expect("a source");
    assert_eq!(paths(&source), expected);
    source
}

#[test]
fn takes_only_included_files_with_links_and_executable_bits() {
    let stage = Stage::new(&["a.py", "b.sh", "c.txt", "lib/d.py", "lib/deep/e.py", "other/f.py"]);
    fs::set_permissions(stage.path("b.sh"), Permissions::from_mode(0o755)).expect("chmod");
    symlink("a.py", stage.path("link.py")).expect("link");
    let source = check(stage.0.path(), &options(&["*.py", "*.sh"], &[]), &["a.py", "b.sh", "link.py"]);
    let tree = source.tree().expect("a tree");
    assert!(matches!(tree.get("b.sh"), Some(Leaf::File(file)) if file.executable));
    assert!(matches!(tree.get("link.py"), Some(Leaf::Link { target }) if target == "a.py"));
    assert_eq!(source.summary().files_seen, 3);
    check(stage.0.path(), &options(&["lib", "*.txt"], &[]), &["c.txt", "lib/d.py", "lib/deep/e.py"]);
    check(stage.0.path(), &options(&["**/*.py"], &["other/", "link.py"]), &["a.py", "lib/d.py", "lib/deep/e.py"]);
}

#[test]
fn folders_that_are_not_included_are_not_read() {
    let stage = Stage::new(&["lib/a.py", "locked/x"]);
    symlink("/nowhere/at/all", stage.path("locked/out")).expect("link");
    check(stage.0.path(), &options(&["lib/*.py"], &[]), &["lib/a.py"]);
}

#[test]
fn only_patterns_that_match_nothing_are_errors() {
    let stage = Stage::new(&["lib/a.py", "top.py"]);
    let error = Source::open(stage.0.path(), &options(&["lib/*.py", "lib/*.rb"], &[]), None).err().expect("refused");
    assert!(matches!(&error, SourceError::NothingMatched { pattern, .. } if pattern == "lib/*.rb"), "{error}");
    check(stage.0.path(), &options(&["lib", "lib/a.py", "lib/*.py", "**/a.py"], &[]), &["lib/a.py"]);
    let left = unmatched(stage.0.path(), &options(&["*.rb", "lib", "lib/b.py"], &[])).expect("looked");
    let expected = ["*.rb", "lib/b.py"].map(|pattern| Unmatched { pattern: pattern.to_owned(), ignored: None });
    assert_eq!(left, expected);
}

#[test]
fn gitignore_applies_at_every_depth_and_is_reported() {
    let stage = Stage::repository(&[
        ".gitignore=*.log|/build/|!keep.log|secret*",
        "a.py",
        "a.log",
        "keep.log",
        "build/out.js",
        "src/build/kept.js",
        "src/.gitignore=!b.log|local.txt",
        "src/b.log",
        "src/c.log",
        "src/local.txt",
        "src/deep/local.txt",
        "local.txt",
        "secrets/x",
    ]);
    let taken = [".gitignore", "a.py", "keep.log", "local.txt", "src/.gitignore", "src/b.log", "src/build/kept.js"];
    let source = check(stage.0.path(), &options(&[], &[]), &taken);
    let ignored = &source.summary().ignored;
    assert_eq!(ignored.count, 6);
    assert_eq!(ignored.first, ["a.log", "build/", "secrets/", "src/c.log", "src/deep/local.txt"]);
    // Without `.gitignore`, all files are taken.
    let all = SourceOptions { gitignore: false, ..options(&[], &[]) };
    assert_eq!(Source::open(stage.0.path(), &all, None).expect("a source").summary().files_seen, 13);
}

#[test]
fn parent_ignore_files_count_up_to_the_repository_root() {
    let stage = Stage::new(&[
        ".gitignore=*.py",
        "repo/.git/HEAD",
        "repo/.gitignore=*.log|/services/a/tmp/",
        "repo/services/.gitignore=*.bak",
        "repo/services/a/main.py",
        "repo/services/a/x.log",
        "repo/services/a/x.bak",
        "repo/services/a/tmp/x",
        "repo/services/a/deep/tmp/x",
    ]);
    let source = check(&stage.path("repo/services/a"), &options(&[], &[]), &["deep/tmp/x", "main.py"]);
    assert_eq!(source.summary().ignored.count, 3);
    // Outside of a repository, only ignore files in the folder itself count.
    fs::remove_dir_all(stage.path("repo/.git")).expect("removed");
    let root = stage.path("repo/services/a");
    check(&root, &options(&[], &[]), &["deep/tmp/x", "main.py", "tmp/x", "x.bak", "x.log"]);
}

#[test]
fn an_ignored_folder_is_taken_when_it_is_the_source() {
    let stage =
        Stage::repository(&[".gitignore=dist/|*.map", "dist/js/app.js", "dist/js/app.map", "dist/.gitignore=*.tmp"]);
    fs::write(stage.path("dist/js/x.tmp"), "x").expect("file");
    check(&stage.path("dist"), &options(&[], &[]), &[".gitignore", "js/app.js", "js/app.map"]);
    check(&stage.path("dist/js"), &options(&[], &[]), &["app.js", "app.map", "x.tmp"]);
}

#[test]
fn milepostignore_takes_precedence_and_always_counts() {
    let stage = Stage::repository(&[
        ".gitignore=dist/|*.log",
        ".milepostignore=# what git keeps and nobody runs|!dist/|!wanted.log|tests/|*.md|!/README.md",
        "a.log",
        "wanted.log",
        "dist/app.js",
        "tests/t.py",
        "README.md",
        "docs/a.md",
        "main.py",
    ]);
    let taken = [".gitignore", "README.md", "dist/app.js", "main.py", "wanted.log"];
    check(stage.0.path(), &options(&[], &[]), &taken);
    let without_git = SourceOptions { gitignore: false, ..options(&[], &[]) };
    let source = Source::open(stage.0.path(), &without_git, None).expect("a source");
    assert_eq!(paths(&source), [".gitignore", "README.md", "a.log", "dist/app.js", "main.py", "wanted.log"]);
}

#[test]
fn exactly_named_paths_are_taken_even_if_ignored() {
    let stage = Stage::repository(&[
        ".gitignore=dist/|.env",
        "main.py",
        ".env",
        "dist/app.js",
        "dist/deep/x.css",
        "dist/other.js",
        "lib/.env",
    ]);
    let spelled = options(&["*.py", ".env", "dist/app.js", "dist/deep/x.css"], &[]);
    check(stage.0.path(), &spelled, &[".env", "dist/app.js", "dist/deep/x.css", "main.py"]);
    // Wildcards do not override ignore files, and excluded files are never taken.
    let error = Source::open(stage.0.path(), &options(&["main.py", "dist/*.js"], &[]), None).err().expect("refused");
    assert!(error.to_string().contains("`dist/*.js`: an ignore file leaves out `dist`"), "{error}");
    let left = unmatched(stage.0.path(), &options(&["*.py", ".env"], &[".env"])).expect("looked");
    assert_eq!(left, [Unmatched { pattern: ".env".to_owned(), ignored: None }]);
}

#[test]
fn a_wildcard_that_matches_only_ignored_files_is_reported() {
    let stage = Stage::repository(&[".gitignore=*.log", "b.log", "a.log", "main.py"]);
    let left = unmatched(stage.0.path(), &options(&["*.log", "*.py"], &[])).expect("looked");
    assert_eq!(left, [Unmatched { pattern: "*.log".to_owned(), ignored: Some("a.log".to_owned()) }]);
}

#[test]
fn invalid_lines_are_errors_in_milepostignore_and_skipped_in_gitignore() {
    let stage = Stage::repository(&[".gitignore=a{b|*.log", "x.log", "main.py"]);
    check(stage.0.path(), &options(&["*.py"], &[]), &["main.py"]);
    fs::write(stage.path(".milepostignore"), "*.tmp\na{b\n").expect("file");
    let error = Source::open(stage.0.path(), &options(&[], &[]), None).err().expect("refused").to_string();
    assert!(error.contains(".milepostignore:2: "), "{error}");
}

#[test]
fn a_named_file_is_taken_despite_ignore_files() {
    let stage = Stage::repository(&[".gitignore=*", "main.py"]);
    check(&stage.path("main.py"), &options(&[], &[]), &["main.py"]);
}

#[test]
fn from_bytes_reads_a_zip_or_a_single_file() {
    let plain = SourceOptions::default();
    let source = Source::from_bytes("main.py", b"def main(): pass\n", &plain).expect("a source");
    assert_eq!(paths(&source), ["main.py"]);
    assert_eq!(source.read_blob(&Digest::of(b"def main(): pass\n")).expect("the blob"), b"def main(): pass\n");
    let source = Source::from_bytes("main", b"#!/bin/sh\n", &plain).expect("a source");
    let tree = source.tree().expect("a tree");
    assert!(matches!(tree.get("main"), Some(Leaf::File(file)) if file.executable));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("lib/a.py", zip::write::SimpleFileOptions::default()).expect("an entry");
    zip.write_all(b"a = 1\n").expect("bytes");
    let bytes = zip.finish().expect("a zip").into_inner();
    let source = Source::from_bytes("code", &bytes, &plain).expect("a source");
    assert_eq!(paths(&source), ["lib/a.py"]);
    assert_eq!(source.read_blob(&Digest::of(b"a = 1\n")).expect("the blob"), b"a = 1\n");
}

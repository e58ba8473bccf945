//! Folders and files as sources: what is taken, what is rejected with which error, and reading
//! blobs.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use milepost_client::source::{FolderLimits, Progress, Source, SourceError, SourceOptions};
use milepost_model::digest::Digest;
use milepost_model::tree::Leaf;
use tempfile::TempDir;

/// A folder with these files, each with its path as the content.
fn folder(paths: &[&str]) -> TempDir {
    let folder = TempDir::new().expect("temporary folder");
    for path in paths {
        put(folder.path(), path, path.as_bytes());
    }
    folder
}

fn put(base: &Path, path: &str, bytes: &[u8]) {
    let place = base.join(path);
    fs::create_dir_all(place.parent().expect("below the base")).expect("folders");
    fs::write(place, bytes).expect("file");
}

fn open(path: &Path) -> Result<Source, SourceError> {
    Source::open(path, &SourceOptions::default(), None)
}

fn excluding(path: &Path, patterns: &[&str]) -> Result<Source, SourceError> {
    let exclude = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Source::open(path, &SourceOptions { exclude, ..SourceOptions::default() }, None)
}

fn paths(source: &Source) -> Vec<&str> {
    source.tree().expect("a tree").iter().map(|(path, _)| path).collect()
}

fn refusal(result: Result<Source, SourceError>) -> String {
    result.err().expect("refused").to_string()
}

#[test]
fn takes_everything_except_history_and_state() {
    let folder =
        folder(&["main.py", "lib/ü ber.py", "日本/語.txt", ".env", ".git/HEAD", "sub/.git", ".milepost/state"]);
    put(folder.path(), "empty", b"");
    fs::create_dir(folder.path().join("nothing inside")).expect("folder");
    let source = open(folder.path()).expect("a source");
    assert_eq!(paths(&source), [".env", "empty", "lib/ü ber.py", "main.py", "日本/語.txt"]);
    let bytes = source.read_blob(&Digest::of("lib/ü ber.py".as_bytes())).expect("the blob");
    assert_eq!(bytes, "lib/ü ber.py".as_bytes());
    assert_eq!(source.read_blob(&Digest::of(b"")).expect("the empty blob"), b"");
    assert_eq!(source.encoded().expect("encoded").root, source.root().expect("root"));
    assert_eq!(source.summary().files_seen, 5);
}

#[test]
fn hidden_files_can_be_left_out() {
    let folder = folder(&["main.py", ".env", ".cache/x", "a/.b"]);
    let options = SourceOptions { keep_hidden: false, ..SourceOptions::default() };
    let source = Source::open(folder.path(), &options, None).expect("a source");
    assert_eq!(paths(&source), ["main.py"]);
}

#[test]
fn a_file_becomes_a_tree_with_one_entry() {
    let folder = folder(&["deep/hello.py", "deep/other.py"]);
    let source = excluding(&folder.path().join("deep/hello.py"), &["*.py"]).expect("a source");
    assert_eq!(paths(&source), ["hello.py"]);
    assert_eq!(source.read_blob(&Digest::of(b"deep/hello.py")).expect("the blob"), b"deep/hello.py");
}

#[test]
fn the_executable_bit_is_kept_and_affects_the_root() {
    let folder = folder(&["build.sh"]);
    let before = open(folder.path()).expect("a source").root().expect("root");
    fs::set_permissions(folder.path().join("build.sh"), Permissions::from_mode(0o755)).expect("chmod");
    let source = open(folder.path()).expect("a source");
    let tree = source.tree().expect("a tree");
    assert!(matches!(tree.get("build.sh"), Some(Leaf::File(file)) if file.executable));
    assert_ne!(source.root().expect("root"), before);
}

#[test]
fn the_exclude_of_seed_000_works_as_written() {
    let folder =
        folder(&["build/public/video/very-large-one.mp4", "build/public/video/small.mp4", "build/public/a.css"]);
    let public = folder.path().join("build/public");
    let source = excluding(&public, &["public/video/very-large-one.mp4"]).expect("a source");
    assert_eq!(paths(&source), ["a.css", "video/small.mp4"]);
    let source = excluding(&public.join("../public/."), &["video/very-large-one.mp4"]).expect("a source");
    assert_eq!(paths(&source), ["a.css", "video/small.mp4"]);
    let source = excluding(&public, &["*.mp4"]).expect("a source");
    assert_eq!(paths(&source), ["a.css"]);
}

#[test]
fn keeps_inner_links_and_rejects_escaping_ones() {
    let folder = folder(&["lib/real.py"]);
    symlink("lib/real.py", folder.path().join("main.py")).expect("link");
    symlink("lib", folder.path().join("also")).expect("link");
    let source = open(folder.path()).expect("a source");
    assert_eq!(paths(&source), ["also", "lib/real.py", "main.py"]);
    let tree = source.tree().expect("a tree");
    assert_eq!(tree.get("main.py"), Some(&Leaf::Link { target: "lib/real.py".to_owned() }));

    for target in ["../elsewhere", "/etc/passwd", "lib/../../x"] {
        let out = folder.path().join("lib/out");
        symlink(format!("../{target}").replace("..//", "/"), &out).expect("link");
        let text = refusal(open(folder.path()));
        assert!(text.contains("`lib/out`") && text.contains(target) && text.contains("exclude"), "{text}");
        assert!(excluding(folder.path(), &["lib/out"]).is_ok());
        fs::remove_file(out).expect("unlink");
    }
}

#[test]
fn rejects_special_files_by_name() {
    let folder = folder(&["main.py"]);
    let socket = folder.path().join("app.sock");
    let _listener = UnixListener::bind(&socket).expect("socket");
    for place in [folder.path(), &socket] {
        let text = refusal(open(place));
        assert!(text.contains("app.sock` is a socket"), "{text}");
    }
    let text = refusal(open(Path::new("/dev/null")));
    assert!(text.contains("`/dev/null` is a device"), "{text}");
}

#[test]
fn rejects_names_that_a_tree_cannot_hold() {
    let odd = folder(&["main.py"]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.py");
    fs::write(odd.path().join(name), "x").expect("file");
    let text = refusal(open(odd.path()));
    assert!(text.contains("caf\u{fffd}.py") && text.contains("UTF-8"), "{text}");

    let odd = folder(&["a\\b.py"]);
    let text = refusal(open(odd.path()));
    assert!(text.contains("`a\\b.py`") && text.contains("rename"), "{text}");
}

#[test]
fn reports_missing_paths_and_invalid_patterns() {
    let folder = folder(&["main.py"]);
    let text = refusal(open(&folder.path().join("man.py")));
    assert!(text.starts_with("file or folder `") && text.contains("man.py"), "{text}");
    let text = refusal(excluding(folder.path(), &["[a"]));
    assert!(text.contains("`[a`"), "{text}");
}

#[test]
fn reading_a_file_that_changed_since_the_scan_fails() {
    let folder = folder(&["same-size.py", "shorter.py", "gone.py", "longer.py"]);
    let source = open(folder.path()).expect("a source");
    put(folder.path(), "same-size.py", b"SAME-SIZE.PY");
    put(folder.path(), "shorter.py", b"short");
    fs::remove_file(folder.path().join("gone.py")).expect("remove");
    for path in ["same-size.py", "shorter.py", "gone.py"] {
        let error = source.read_blob(&Digest::of(path.as_bytes())).expect_err("changed");
        assert!(matches!(&error, SourceError::Changed(name) if name.ends_with(path)), "{error}");
        assert!(error.to_string().contains("run the command again"), "{error}");
    }
    // A file that only grew, like a log, still starts with the scanned bytes.
    let mut log = File::options().append(true).open(folder.path().join("longer.py")).expect("open");
    log.write_all(b"more").expect("append");
    assert_eq!(source.read_blob(&Digest::of(b"longer.py")).expect("the blob"), b"longer.py");
}

#[test]
fn an_unknown_digest_is_an_error() {
    let folder = folder(&["main.py"]);
    let source = open(folder.path()).expect("a source");
    let error = source.read_blob(&Digest::of(b"something else")).expect_err("unknown");
    assert!(matches!(error, SourceError::UnknownBlob { .. }), "{error}");
}

#[test]
fn progress_ends_with_the_full_counts() {
    let names: Vec<String> = (0..200).map(|number| format!("d{}/f{number}", number % 7)).collect();
    let folder = folder(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (files, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(0)));
    let (seen, hashed) = (Arc::clone(&files), Arc::clone(&bytes));
    let watcher = move |progress: Progress| {
        seen.fetch_max(progress.files_seen, Ordering::Relaxed);
        let mut most = hashed.lock().expect("not poisoned");
        *most = progress.bytes_hashed.max(*most);
    };
    let options = SourceOptions { progress: Some(Arc::new(watcher)), ..SourceOptions::default() };
    let source = Source::open(folder.path(), &options, None).expect("a source");
    assert_eq!(files.load(Ordering::Relaxed), 200);
    assert_eq!(*bytes.lock().expect("not poisoned"), source.tree().expect("a tree").total_size());
}

#[test]
fn a_source_can_be_shared_by_upload_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Source>();
    fn sent<T: Send + 'static>() {}
    sent::<milepost_client::source::Blob>();
    sent::<SourceError>();
}

#[test]
fn rejects_a_folder_above_its_limits_before_reading_it() {
    let folder = folder(&["a", "sub/b"]);
    symlink("a", folder.path().join("link")).expect("link");
    let limited = |most_files, most_bytes| {
        let folder_limits = FolderLimits { most_files, most_bytes };
        Source::open(folder.path(), &SourceOptions { folder_limits, ..SourceOptions::default() }, None)
    };
    // Two files, a folder and a link. The content of each file is its path.
    assert_eq!(paths(&limited(Some(4), Some(6)).expect("a source")), ["a", "link", "sub/b"]);
    let refused = refusal(limited(Some(3), None));
    assert!(refused.contains("has more than 3 files, links and folders; exclude"), "{refused}");
    let refused = refusal(limited(None, Some(5)));
    assert!(refused.contains("have more than 5 bytes in total; exclude"), "{refused}");
    // Reading these holes would take hours.
    for name in ["huge", "huge too"] {
        let file = File::create(folder.path().join(name)).expect("file");
        file.set_len(8 << 40).expect("a file that is one hole");
    }
    assert!(matches!(limited(None, Some(10 << 30)), Err(SourceError::TooManyBytes { .. })));
}

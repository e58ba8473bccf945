//! The stat cache: unchanged files are not read, and every edit is noticed, however quick.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use milepost_client::source::{Source, SourceError, SourceOptions, StatCache};
use milepost_model::clock::{Clock as _, SystemClock, Timestamp, from_millis};
use milepost_model::digest::Digest;
use tempfile::TempDir;

struct Stage {
    folder: TempDir,
    caches: TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: TempDir::new().expect("folder"), caches: TempDir::new().expect("caches") };
        fs::create_dir(stage.path("lib")).expect("folder");
        for name in ["a.py", "b.py", "lib/c.py", "lib-d.py"] {
            fs::write(stage.path(name), name).expect("file");
        }
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache_file(&self) -> PathBuf {
        self.caches.path().join("deeper/stat")
    }

    fn scan(&self, at: Timestamp) -> Source {
        let mut cache = StatCache::load(self.cache_file(), at);
        Source::open(self.folder.path(), &SourceOptions::default(), Some(&mut cache)).expect("a source")
    }

    /// The result of a scan without a cache.
    fn truth(&self) -> Digest {
        Source::open(self.folder.path(), &SourceOptions::default(), None).expect("a source").root().expect("root")
    }
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// A time at which files written just now have been at rest for long.
fn later() -> Timestamp {
    from_millis(now().as_millisecond() + 3_600_000)
}

/// Writes until the file system's clock has ticked, so that the stat differs after the edit.
fn edit_in_a_new_tick(path: &Path, text: &str) {
    let times = |path: &Path| fs::metadata(path).map(|m| (m.ctime(), m.ctime_nsec())).expect("stat");
    let before = times(path);
    while times(path) == before {
        fs::write(path, text).expect("write");
    }
}

#[test]
fn an_unchanged_folder_is_not_read_again() {
    let stage = Stage::new();
    let first = stage.scan(later());
    assert_eq!(first.summary().files_hashed, 4);
    assert!(first.summary().cache_written);
    let second = stage.scan(later());
    assert_eq!((second.summary().files_hashed, second.summary().files_seen), (0, 4));
    assert!(!second.summary().cache_written, "nothing is news");
    assert_eq!(second.root().expect("root"), stage.truth());
    assert_eq!(second.encoded().expect("encoded").root, stage.truth(), "the cached root is the tree's");
    assert_eq!(second.read_blob(&Digest::of(b"lib/c.py")).expect("the blob"), b"lib/c.py");
}

#[test]
fn only_changed_files_are_read_again() {
    let stage = Stage::new();
    stage.scan(later());
    edit_in_a_new_tick(&stage.path("lib/c.py"), "LIB/C.PY");
    fs::write(stage.path("new.py"), "new").expect("file");
    fs::remove_file(stage.path("a.py")).expect("remove");
    let source = stage.scan(later());
    assert_eq!(source.summary().files_hashed, 2);
    assert_eq!(source.root().expect("root"), stage.truth());
    assert_eq!(stage.scan(later()).summary().files_hashed, 0);
}

#[test]
fn a_removed_file_and_a_new_link_change_the_root_without_any_hashing() {
    let stage = Stage::new();
    stage.scan(later());
    fs::remove_file(stage.path("a.py")).expect("remove");
    std::os::unix::fs::symlink("b.py", stage.path("a.py")).expect("link");
    let source = stage.scan(later());
    assert_eq!(source.summary().files_hashed, 0);
    assert_eq!(source.root().expect("root"), stage.truth());
}

#[test]
fn an_edit_of_equal_size_in_the_same_second_is_noticed() {
    let stage = Stage::new();
    stage.scan(now());
    fs::write(stage.path("a.py"), "A.PY").expect("write");
    let source = stage.scan(now());
    assert_eq!(source.root().expect("root"), stage.truth());
    assert!(source.tree().expect("a tree").iter().count() == 4 && source.read_blob(&Digest::of(b"A.PY")).is_ok());
}

#[test]
fn only_files_at_rest_are_cached() {
    let stage = Stage::new();
    let changed = fs::metadata(stage.path("lib/c.py")).expect("stat");
    let tick = changed.ctime() * 1000 + changed.ctime_nsec() / 1_000_000;
    stage.scan(from_millis(tick + 1_900));
    assert!(StatCache::load(stage.cache_file(), now()).is_empty(), "within the margin nothing is kept");
    stage.scan(from_millis(tick + 4_000));
    assert_eq!(StatCache::load(stage.cache_file(), now()).len(), 4);
}

#[test]
fn restoring_the_modification_time_hides_no_edit() {
    let stage = Stage::new();
    let path = stage.path("a.py");
    let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("stat");
    for (at, text) in [(now(), "A.py"), (later(), "a.PY")] {
        stage.scan(at);
        edit_in_a_new_tick(&path, text);
        File::options().write(true).open(&path).and_then(|file| file.set_modified(modified)).expect("utimensat");
        let metadata = fs::metadata(&path).expect("stat");
        assert_eq!((metadata.len(), metadata.modified().expect("mtime")), (4, modified));
        assert_eq!(stage.scan(at).root().expect("root"), stage.truth());
    }
}

#[test]
fn a_different_mode_or_inode_is_a_cache_miss() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new();
    stage.scan(later());
    fs::set_permissions(stage.path("a.py"), fs::Permissions::from_mode(0o755)).expect("chmod");
    fs::write(stage.path("b.new"), "b.PY").expect("file");
    fs::rename(stage.path("b.new"), stage.path("b.py")).expect("rename");
    let source = stage.scan(later());
    assert_eq!(source.summary().files_hashed, 2);
    assert_eq!(source.root().expect("root"), stage.truth());
}

#[test]
fn a_damaged_or_foreign_cache_is_ignored() {
    let stage = Stage::new();
    stage.scan(later());
    let whole = fs::read(stage.cache_file()).expect("cache");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let mut other_version = whole.clone();
    other_version[14] = b'0';
    let cut = whole[..whole.len() - 7].to_vec();
    for bytes in [flipped, other_version, cut, Vec::new(), b"milepost-stat/1\n".to_vec(), vec![0xff; 4096]] {
        fs::write(stage.cache_file(), &bytes).expect("cache");
        let source = stage.scan(later());
        assert_eq!(source.summary().files_hashed, 4);
        assert_eq!(source.root().expect("root"), stage.truth());
        assert_eq!(fs::read(stage.cache_file()).expect("cache"), whole, "and is made anew");
    }
}

#[test]
fn an_unwritable_cache_is_not_an_error() {
    let stage = Stage::new();
    fs::write(stage.caches.path().join("deeper"), "in the way").expect("file");
    let source = stage.scan(later());
    assert!(!source.summary().cache_written);
    assert_eq!(source.root().expect("root"), stage.truth());
}

#[test]
fn a_cache_with_a_wrong_digest_is_deleted() {
    let stage = Stage::new();
    stage.scan(later());
    let source = stage.scan(later());
    fs::write(stage.path("a.py"), "A.PY").expect("write");
    let error = source.read_blob(&Digest::of(b"a.py")).expect_err("changed");
    assert!(matches!(error, SourceError::Changed(_)), "{error}");
    assert!(!stage.cache_file().exists());
    assert_eq!(stage.scan(later()).root().expect("root"), stage.truth());
}

#[test]
fn a_rejected_folder_stays_rejected_with_a_cache() {
    let stage = Stage::new();
    stage.scan(later());
    std::os::unix::fs::symlink("/etc", stage.path("out")).expect("link");
    for _ in 0..2 {
        let mut cache = StatCache::load(stage.cache_file(), later());
        let result = Source::open(stage.folder.path(), &SourceOptions::default(), Some(&mut cache));
        assert!(matches!(result, Err(SourceError::LinkLeaves { .. })));
    }
}

//! Zips as sources: regular ones are unpacked, and hostile ones are rejected with the entry's name
//! and a hint.
#![expect(clippy::expect_used, reason = "a test that cannot set its stage must fail")]

use std::fs;
use std::io::{Cursor, Write as _};

use milepost_client::source::{Source, SourceError, SourceOptions, ZipLimits, ZipRefusal};
use milepost_model::digest::Digest;
use milepost_model::tree::Leaf;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

type Writer = ZipWriter<Cursor<Vec<u8>>>;

fn zip(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    fill(&mut writer);
    writer.finish().expect("a zip").into_inner()
}

/// Adds a deflated file.
fn add(zip: &mut Writer, name: &str, bytes: &[u8]) {
    zip.start_file(name, SimpleFileOptions::default().unix_permissions(0o644)).expect("an entry");
    zip.write_all(bytes).expect("its bytes");
}

fn one(name: &str) -> Vec<u8> {
    zip(|zip| add(zip, name, b"print(1)"))
}

/// Overwrites every occurrence without changing the length, to create names that no tool writes.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty(), "nothing to patch");
    for at in places {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
    bytes
}

/// Overwrites a field in all headers with this signature.
fn with_header(mut bytes: Vec<u8>, signature: &[u8; 4], field: usize, value: &[u8]) -> Vec<u8> {
    for at in 0..bytes.len() - 4 {
        if bytes[at..].starts_with(signature) {
            bytes[at + field..at + field + value.len()].copy_from_slice(value);
        }
    }
    bytes
}

fn open_with(bytes: &[u8], name: &str, options: &SourceOptions) -> Result<Source, SourceError> {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("zip");
    Source::open(&path, options, None)
}

fn open(bytes: &[u8]) -> Result<Source, SourceError> {
    open_with(bytes, "app.zip", &SourceOptions::default())
}

fn limited(bytes: &[u8], limits: ZipLimits) -> ZipRefusal {
    refused(open_with(bytes, "app.zip", &SourceOptions { limits, ..SourceOptions::default() }))
}

fn refused(result: Result<Source, SourceError>) -> ZipRefusal {
    let error = result.err().expect("refused");
    let text = error.to_string();
    assert!(text.starts_with("invalid zip `") && text.contains(';') && !text.ends_with('.'), "{text}");
    let SourceError::Zip { reason, .. } = error else { unreachable!("another error: {text}") };
    reason
}

fn paths(source: &Source) -> Vec<&str> {
    source.tree().expect("a tree").iter().map(|(path, _)| path).collect()
}

#[test]
fn a_zip_is_unpacked_with_modes_links_and_unicode() {
    let bytes = zip(|zip| {
        zip.add_directory("bin/", SimpleFileOptions::default()).expect("an entry");
        zip.start_file("bin/run", SimpleFileOptions::default().unix_permissions(0o755)).expect("an entry");
        zip.write_all(b"#!/bin/sh").expect("its bytes");
        zip.add_symlink("run", "bin/run", SimpleFileOptions::default()).expect("an entry");
        add(zip, "日本/語 ü.txt", b"hi");
        add(zip, "empty", b"");
        add(zip, ".git/config", b"no");
        add(zip, "__MACOSX/._run", b"no");
        add(zip, "./dotted", b"from a tool that writes dots");
    });
    let source = open(&bytes).expect("a source");
    assert_eq!(paths(&source), ["bin/run", "dotted", "empty", "run", "日本/語 ü.txt"]);
    let tree = source.tree().expect("a tree");
    assert!(matches!(tree.get("bin/run"), Some(Leaf::File(file)) if file.executable));
    assert!(matches!(tree.get("empty"), Some(Leaf::File(file)) if !file.executable && file.size == 0));
    assert_eq!(tree.get("run"), Some(&Leaf::Link { target: "bin/run".to_owned() }));
    assert_eq!(source.read_blob(&Digest::of(b"hi")).expect("the blob"), b"hi");
    assert_eq!(source.read_blob(&Digest::of(b"")).expect("the blob"), b"");
    assert!(source.read_blob(&Digest::of(b"no")).is_err());
}

#[test]
fn a_zip_is_detected_by_content_and_may_be_kept() {
    let bytes = one("main.py");
    let source = open_with(&bytes, "bundle", &SourceOptions::default()).expect("a source");
    assert_eq!(paths(&source), ["main.py"]);
    let keep = SourceOptions { keep_archives: true, ..SourceOptions::default() };
    assert_eq!(paths(&open_with(&bytes, "download.zip", &keep).expect("a source")), ["download.zip"]);
    assert!(paths(&open(&zip(|_| {})).expect("an empty zip")).is_empty());
}

#[test]
fn patterns_apply_inside_zips() {
    let bytes = zip(|zip| {
        for name in ["a.py", "node_modules/x/y.js", "lib/b.pyc"] {
            add(zip, name, b"x");
        }
    });
    let options = SourceOptions { exclude: vec!["node_modules/".into(), "*.pyc".into()], ..SourceOptions::default() };
    assert_eq!(paths(&open_with(&bytes, "app.zip", &options).expect("a source")), ["a.py"]);
}

#[test]
fn rejects_escaping_names_even_if_excluded() {
    for name in ["../x.py", "/etc/cron.d/x", "a/../../x", "a//b", "C:x.py", "a/./b", "../up/"] {
        let bytes = patched(one(&"n".repeat(name.len())), "n".repeat(name.len()).as_bytes(), name.as_bytes());
        let options = SourceOptions { exclude: vec!["**".into()], ..SourceOptions::default() };
        for result in [open(&bytes), open_with(&bytes, "app.zip", &options)] {
            let reason = refused(result);
            assert!(matches!(&reason, ZipRefusal::Escapes(entry) if entry == name), "{name}: {reason}");
        }
    }
}

#[test]
fn rejects_backslashes_and_names_that_are_not_utf8() {
    let reason = refused(open(&patched(one("dir/x.py"), b"dir/x.py", b"dir\\x.py")));
    assert!(matches!(&reason, ZipRefusal::Backslash(entry) if entry == "dir\\x.py"), "{reason}");
    let reason = refused(open(&patched(one("caf_.py"), b"caf_.py", b"caf\xe9.py")));
    assert!(matches!(&reason, ZipRefusal::NameNotUtf8(entry) if entry == "caf\u{fffd}.py"), "{reason}");
}

#[test]
fn rejects_links_that_escape_directly_or_through_others() {
    for target in ["/etc/passwd", "../x", "a/../../x"] {
        let reason = refused(open(&zip(|zip| {
            zip.add_symlink("way-out", target, SimpleFileOptions::default()).expect("an entry");
        })));
        let named = |path: &str, to: &str| path == "way-out" && to == target;
        assert!(matches!(&reason, ZipRefusal::LinkLeaves { path, target } if named(path, target)), "{reason}");
    }
    let reason = refused(open(&zip(|zip| {
        zip.add_symlink("d/up", "..", SimpleFileOptions::default()).expect("an entry");
        zip.add_symlink("out", "d/up/../etc", SimpleFileOptions::default()).expect("an entry");
    })));
    assert!(matches!(&reason, ZipRefusal::LinkLeaves { path, .. } if path == "out"), "{reason}");
}

#[test]
fn rejects_a_file_below_a_link() {
    let reason = refused(open(&zip(|zip| {
        zip.add_symlink("dir", "elsewhere", SimpleFileOptions::default()).expect("an entry");
        add(zip, "dir/x", b"through the link");
    })));
    assert!(matches!(&reason, ZipRefusal::Duplicate(entry) if entry == "dir/x"), "{reason}");
}

#[test]
fn rejects_duplicate_entries_by_name() {
    let two = zip(|zip| {
        add(zip, "main.py", b"innocent");
        add(zip, "maim.py", b"malicious");
    });
    let reason = refused(open(&patched(two, b"maim.py", b"main.py")));
    assert!(matches!(&reason, ZipRefusal::Duplicate(entry) if entry == "main.py"), "{reason}");
}

#[test]
fn rejects_encrypted_entries_unknown_methods_and_special_files() {
    let flagged = with_header(with_header(one("x.py"), b"PK\x03\x04", 6, &[1, 0]), b"PK\x01\x02", 8, &[1, 0]);
    let reason = refused(open(&flagged));
    assert!(matches!(&reason, ZipRefusal::Encrypted(entry) if entry == "x.py"), "{reason}");

    let method = 14_u16.to_le_bytes();
    let lzma = with_header(with_header(one("x.py"), b"PK\x03\x04", 8, &method), b"PK\x01\x02", 10, &method);
    let reason = refused(open(&lzma));
    assert!(matches!(&reason, ZipRefusal::Method { name, method: 14 } if name == "x.py"), "{reason}");

    let pipe = (0o010_644_u32 << 16).to_le_bytes();
    let reason = refused(open(&with_header(one("x.py"), b"PK\x01\x02", 38, &pipe)));
    assert!(matches!(&reason, ZipRefusal::NotRegular(entry) if entry == "x.py"), "{reason}");
}

#[test]
fn stops_a_zip_bomb_while_unpacking() {
    let bomb = zip(|zip| add(zip, "zeros.bin", &vec![0; 24 << 20]));
    let reason = refused(open(&bomb));
    assert!(matches!(&reason, ZipRefusal::Bomb { name, limit: 200 } if name == "zeros.bin"), "{reason}");

    // A declared packed size above that of the archive does not help.
    let liar = with_header(bomb.clone(), b"PK\x01\x02", 20, &0x7fff_ffff_u32.to_le_bytes());
    let reason = refused(open(&liar));
    assert!(matches!(&reason, ZipRefusal::Bomb { name, .. } if name == "zeros.bin"), "{reason}");

    // A small declared unpacked size does not help either.
    let liar = with_header(bomb, b"PK\x01\x02", 24, &100_u32.to_le_bytes());
    let reason = refused(open(&liar));
    assert!(matches!(&reason, ZipRefusal::DamagedEntry { name, .. } if name == "zeros.bin"), "{reason}");

    // Many files, each below the limit, add up.
    let many = zip(|zip| (0..30).for_each(|number| add(zip, &format!("zeros-{number}"), &vec![0; 1 << 20])));
    assert!(matches!(refused(open(&many)), ZipRefusal::Bomb { .. }));
}

#[test]
fn enforces_limits_on_sizes_and_counts() {
    let bytes = zip(|zip| ["a", "b", "c"].iter().for_each(|name| add(zip, name, &[7; 1000])));
    let reason = limited(&bytes, ZipLimits { entries: 2, ..ZipLimits::default() });
    assert!(matches!(reason, ZipRefusal::TooMany { count: 3, limit: 2 }), "{reason}");
    let reason = limited(&bytes, ZipLimits { file_bytes: 999, ..ZipLimits::default() });
    assert!(matches!(&reason, ZipRefusal::FileTooLarge { name, limit: 999 } if name == "a"), "{reason}");
    let reason = limited(&bytes, ZipLimits { total_bytes: 2999, ..ZipLimits::default() });
    assert!(matches!(&reason, ZipRefusal::TooLarge { name, limit: 2999 } if name == "c"), "{reason}");
    let exact = ZipLimits { entries: 3, file_bytes: 1000, total_bytes: 3000, ..ZipLimits::default() };
    assert!(open_with(&bytes, "app.zip", &SourceOptions { limits: exact, ..SourceOptions::default() }).is_ok());
}

#[test]
fn rejects_files_that_are_not_complete_zips() {
    assert!(matches!(refused(open(b"hello, I am a text")), ZipRefusal::NotAZip));
    assert!(matches!(refused(open(b"")), ZipRefusal::NotAZip));
    let whole = zip(|zip| (0..50).for_each(|number| add(zip, &format!("f{number}"), &[7; 300])));
    for length in [4, 60, whole.len() / 2, whole.len() - 30, whole.len() - 1] {
        let reason = refused(open(&whole[..length]));
        assert!(matches!(reason, ZipRefusal::Damaged(_)), "{length}: {reason}");
    }
}

#[test]
fn rejects_damaged_entries_by_name() {
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let bytes = zip(|zip| {
        zip.start_file("x.py", stored).expect("an entry");
        zip.write_all(b"print(1)").expect("its bytes");
    });
    let reason = refused(open(&patched(bytes, b"print(1)", b"print(2)")));
    assert!(matches!(&reason, ZipRefusal::DamagedEntry { name, .. } if name == "x.py"), "{reason}");
}

#[test]
fn damaged_zips_never_panic() {
    let whole = zip(|zip| {
        add(zip, "a.py", b"print(1)");
        zip.add_symlink("b", "a.py", SimpleFileOptions::default()).expect("an entry");
    });
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("app.zip");
    for at in 0..whole.len() {
        for value in [0, 0xff, whole[at] ^ 1] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            fs::write(&path, &bytes).expect("zip");
            let _ = Source::open(&path, &SourceOptions::default(), None);
        }
    }
}

#[test]
fn reading_a_zip_overwritten_since_the_scan_fails() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("app.zip");
    fs::write(&path, one("main.py")).expect("zip");
    let source = Source::open(&path, &SourceOptions::default(), None).expect("a source");
    fs::write(&path, vec![b'x'; 400]).expect("overwritten in place");
    let error = source.read_blob(&Digest::of(b"print(1)")).expect_err("changed");
    assert!(matches!(&error, SourceError::Changed(name) if name == "main.py"), "{error}");
}

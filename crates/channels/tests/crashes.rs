//! Publishers killed between any two of their writes.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Author, latest_version, options, package};
use milepost_channels::{ChannelError, SecretKey, Source, SourceOptions, StoreOptions, WriteError};
use milepost_model::channel::PublishRefusal;

/// The order in which a publish writes.
const ORDER: [&str; 5] = ["all.minisig.next", "all", "all.minisig", "latest", "latest.minisig"];

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn read(root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn write(root: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn load(secret: &str) -> SecretKey {
    use std::os::unix::fs::PermissionsExt as _;
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), secret).unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
    SecretKey::load(file.path(), None).unwrap()
}

fn author(root: &Path, secret: Option<&str>) -> Author {
    let key = secret.map(load);
    Author::at(root.to_str().unwrap(), StoreOptions { key, ..StoreOptions::default() })
}

/// The state after a publish of 1.1.0 on top of 1.0.0 was killed after `writes` of its index files.
async fn cut_off_after(writes: usize, root: &Path, secret: Option<&str>) {
    let whole = tempfile::tempdir().unwrap();
    let publisher = author(whole.path(), secret);
    publisher.publish("1.0.0").await.unwrap();
    let before = read(whole.path());
    publisher.publish("1.1.0").await.unwrap();
    let after = read(whole.path());
    let mut cut = before;
    let folder = PathBuf::from(format!("{}/stable", package()));
    for (name, bytes) in &after {
        let index = ORDER.iter().position(|file| *name == folder.join(file));
        let is_artifact = name.starts_with(folder.join("artifacts"));
        if is_artifact || index.is_some_and(|index| index < writes) {
            cut.insert(name.clone(), bytes.clone());
        }
    }
    write(root, &cut);
}

fn reader(root: &Path, secret: Option<&str>) -> Source {
    let key = secret.map(|secret| load(secret).public().clone());
    Source::open(&format!("{}/{}/stable", root.display(), package()), SourceOptions { key, ..options() }).unwrap()
}

#[tokio::test]
async fn next_publish_completes_an_interrupted_one() {
    let (_, secret) = common::key();
    for secret in [None, Some(secret.as_str())] {
        for writes in 0..ORDER.len() {
            let home = tempfile::tempdir().unwrap();
            cut_off_after(writes, home.path(), secret).await;
            let other = author(home.path(), secret);
            other.publish("1.2.0").await.unwrap_or_else(|error| panic!("after {writes} writes: {error}"));
            let source = reader(home.path(), secret);
            assert_eq!(latest_version(&source).await.as_deref(), Some("1.2.0"), "after {writes} writes");
            let expected: &[&str] = if writes < 2 { &["1.2.0", "1.0.0"] } else { &["1.2.0", "1.1.0", "1.0.0"] };
            assert_eq!(other.versions("stable").await, expected, "after {writes} writes");
            source.all().await.unwrap_or_else(|error| panic!("after {writes} writes: {error}"));
        }
    }
}

#[tokio::test]
async fn repeated_publish_completes_itself() {
    let (_, secret) = common::key();
    for secret in [None, Some(secret.as_str())] {
        for writes in 0..=ORDER.len() {
            let home = tempfile::tempdir().unwrap();
            cut_off_after(writes, home.path(), secret).await;
            let again = author(home.path(), secret);
            let done = again.publish("1.1.0").await;
            // Without a key no signatures can be missing.
            let was_whole = writes == ORDER.len() || secret.is_none() && writes == 4;
            match done {
                Err(WriteError::Publish(PublishRefusal::Exists(..))) if was_whole => {}
                Ok(published) => {
                    assert!(!was_whole, "nothing was left to do after {writes} writes");
                    assert_eq!(published.finished_earlier, writes >= 2, "after {writes} writes");
                }
                Err(error) => panic!("after {writes} writes: {error}"),
            }
            let source = reader(home.path(), secret);
            assert_eq!(latest_version(&source).await.as_deref(), Some("1.1.0"), "after {writes} writes");
            assert_eq!(source.all().await.unwrap().all.versions().len(), 2);
        }
    }
}

#[tokio::test]
async fn reader_sees_a_consistent_state_or_a_signature_error() {
    let (_, secret) = common::key();
    for writes in 0..=ORDER.len() {
        let home = tempfile::tempdir().unwrap();
        cut_off_after(writes, home.path(), Some(&secret)).await;
        let unkeyed = reader(home.path(), None);
        let latest = common::latest(&unkeyed).await.unwrap();
        let all = unkeyed.all_for(&latest).await.unwrap().all;
        assert!(!all.is_behind(&latest.latest), "after {writes} writes");
        let keyed = reader(home.path(), Some(&secret));
        for result in [common::latest(&keyed).await.map(drop), keyed.all().await.map(drop)] {
            match result {
                Ok(()) => {}
                Err(error @ ChannelError::BadSignature { .. }) => {
                    assert!(writes == 2 || writes == 4, "after {writes} writes: {error}");
                }
                Err(error) => panic!("after {writes} writes: {error}"),
            }
        }
    }
}

#[tokio::test]
async fn next_publish_does_not_sign_an_altered_list() {
    let (_, secret) = common::key();
    let home = tempfile::tempdir().unwrap();
    let author = author(home.path(), Some(&secret));
    author.publish("1.0.0").await.unwrap();
    let path = home.path().join(format!("{}/stable/all", package()));
    let altered = fs::read_to_string(&path).unwrap().replace("1.0.0", "1.0.9");
    fs::write(&path, &altered).unwrap();
    let error = author.publish("1.1.0").await.unwrap_err();
    assert!(matches!(error, WriteError::Altered), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), altered, "nothing was written");
}

#[tokio::test]
async fn signed_channel_requires_its_key() {
    let (_, secret) = common::key();
    let (_, other) = common::key();
    let home = tempfile::tempdir().unwrap();
    author(home.path(), Some(&secret)).publish("1.0.0").await.unwrap();
    let error = author(home.path(), None).publish("1.1.0").await.unwrap_err();
    assert!(matches!(error, WriteError::KeyNeeded), "{error}");
    let error = author(home.path(), Some(&other)).publish("1.1.0").await.unwrap_err();
    assert!(matches!(error, WriteError::OtherKey { .. }), "{error}");
}

#[tokio::test]
async fn signing_an_existing_channel_requires_confirmation() {
    let (_, secret) = common::key();
    let home = tempfile::tempdir().unwrap();
    author(home.path(), None).publish("1.0.0").await.unwrap();
    let error = author(home.path(), Some(&secret)).publish("1.1.0").await.unwrap_err();
    assert!(matches!(error, WriteError::NotSigned), "{error}");
    let options = StoreOptions { key: Some(load(&secret)), sign_existing: true, ..StoreOptions::default() };
    Author::at(home.path().to_str().unwrap(), options).publish("1.1.0").await.unwrap();
    let source = reader(home.path(), Some(&secret));
    assert_eq!(latest_version(&source).await.as_deref(), Some("1.1.0"));
    author(home.path(), Some(&secret)).publish("1.2.0").await.unwrap();
}

fn vouching(root: &Path, secret: &str) -> Author {
    let options = StoreOptions { key: Some(load(secret)), sign_existing: true, ..StoreOptions::default() };
    Author::at(root.to_str().unwrap(), options)
}

#[tokio::test]
async fn replacing_a_key_requires_confirmation_and_keeps_serials() {
    let [(_, old), (_, new)] = [common::key(), common::key()];
    let home = tempfile::tempdir().unwrap();
    for text in ["1.0.0", "1.1.0"] {
        author(home.path(), Some(&old)).publish(text).await.unwrap();
    }
    let before = common::latest(&reader(home.path(), Some(&old))).await.unwrap().serial;
    let done = vouching(home.path(), &new).publish("1.2.0").await.unwrap();
    assert!(done.serial > before, "{:?} is not above {before:?}", done.serial);
    let source = reader(home.path(), Some(&new));
    let read = common::latest(&source).await.unwrap();
    assert_eq!(read.serial, done.serial);
    assert_eq!(source.all_for(&read).await.unwrap().all.versions().len(), 3);
    let error = author(home.path(), Some(&old)).publish("1.3.0").await.unwrap_err();
    assert!(matches!(error, WriteError::OtherKey { .. }), "{error}");
    author(home.path(), Some(&new)).publish("1.3.0").await.unwrap();
}

#[tokio::test]
async fn implausible_serials_are_rejected_and_not_continued() {
    let (_, secret) = common::key();
    for file in ["latest.minisig", "all.minisig.next"] {
        for claim in [u64::MAX, u64::MAX - 1, 1 << 60] {
            let home = tempfile::tempdir().unwrap();
            author(home.path(), Some(&secret)).publish("1.0.0").await.unwrap();
            let path = home.path().join(format!("{}/stable/{file}", package()));
            let forged = fs::read_to_string(&path).unwrap().replace("serial:1\n", &format!("serial:{claim}\n"));
            assert!(forged.contains(&claim.to_string()), "{forged}");
            fs::write(&path, forged).unwrap();
            let error = author(home.path(), Some(&secret)).publish("1.1.0").await.unwrap_err();
            assert!(matches!(error, WriteError::Implausible { serial } if serial == claim), "{error}");
            let done = vouching(home.path(), &secret).publish("1.1.0").await.unwrap();
            assert_eq!(done.serial, Some(2), "{file} {claim}");
            author(home.path(), Some(&secret)).publish("1.2.0").await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_publish_raises_the_serial_of_both_files() {
    let (_, secret) = common::key();
    let home = tempfile::tempdir().unwrap();
    let author = author(home.path(), Some(&secret));
    let mut last = 0;
    for text in ["1.0.0", "1.1.0", "1.2.0"] {
        author.publish(text).await.unwrap();
        let source = reader(home.path(), Some(&secret));
        let latest = common::latest(&source).await.unwrap().serial.unwrap();
        let all = source.all().await.unwrap().serial.unwrap();
        assert!(latest > last, "{latest} is not above {last}");
        assert_eq!(latest, all);
        last = latest;
    }
}

//! A channel in a single file.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Author, collect, latest, options, package, version};
use milepost_channels::{ChannelError, PublicKey, Source, SourceOptions, StoreOptions, bundle};

struct World {
    home: tempfile::TempDir,
    key: PublicKey,
}

impl World {
    async fn new() -> Self {
        let (key, _) = common::key();
        let public = key.public().clone();
        let home = tempfile::tempdir().unwrap();
        let channels = home.path().join("channels");
        let author = Author::at(channels.to_str().unwrap(), StoreOptions { key: Some(key), ..StoreOptions::default() });
        for text in ["1.0.0", "1.1.0", "2.0.0"] {
            author.publish(text).await.unwrap();
        }
        Self { home, key: public }
    }

    fn source(&self) -> Source {
        let url = format!("{}/channels/{}/stable", self.home.path().display(), package());
        Source::open(&url, self.options()).unwrap()
    }

    fn options(&self) -> SourceOptions {
        SourceOptions { key: Some(self.key.clone()), ..options() }
    }

    async fn write(&self, name: &str, versions: Option<&[&str]>) -> std::path::PathBuf {
        let path = self.home.path().join(name);
        let versions: Option<Vec<_>> = versions.map(|texts| texts.iter().map(|text| version(text)).collect());
        bundle::write(&self.source(), &path, versions.as_deref(), &mut |_| {}).await.unwrap();
        path
    }

    fn open(&self, path: &Path) -> Result<Source, ChannelError> {
        Source::open(path.to_str().unwrap(), self.options())
    }
}

#[tokio::test]
async fn bundle_can_be_read_like_a_channel() {
    let world = World::new().await;
    let path = world.write("shop.bundle", None).await;
    let source = world.open(&path).unwrap();
    let read = latest(&source).await.unwrap();
    assert!(read.serial.is_some(), "the signatures are in it");
    let all = source.all_for(&read).await.unwrap().all;
    assert_eq!(all.versions().len(), 3);
    for entry in all.versions() {
        let bytes = collect(source.artifact(entry).await.unwrap()).await.unwrap();
        assert_eq!(bytes, format!("the artifact of {}", entry.version).into_bytes());
    }
    let again = source.latest(read.tag.as_deref()).await.unwrap();
    assert!(matches!(again, milepost_channels::LatestAnswer::NotModified), "{again:?}");
}

#[tokio::test]
async fn bundles_are_reproducible_and_listed_by_tar() {
    let world = World::new().await;
    let (first, second) = (world.write("a.bundle", None).await, world.write("b.bundle", None).await);
    assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(second).unwrap());
    let listed = Command::new("tar").arg("-tf").arg(&first).output().unwrap();
    assert!(listed.status.success());
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: Vec<&str> = listed.lines().collect();
    assert_eq!(names[..4], ["latest", "latest.minisig", "all", "all.minisig"]);
    assert_eq!(names.len(), 7);
    assert!(names[4..].is_sorted(), "{names:?}");
}

#[tokio::test]
async fn bundle_has_only_the_chosen_versions() {
    let world = World::new().await;
    let path = world.write("one.bundle", Some(&["1.1.0"])).await;
    let source = world.open(&path).unwrap();
    let all = source.all().await.unwrap().all;
    let chosen = all.get(&version("1.1.0")).unwrap();
    collect(source.artifact(chosen).await.unwrap()).await.unwrap();
    let other = all.get(&version("2.0.0")).unwrap();
    let error = source.artifact(other).await.err().unwrap();
    assert!(matches!(error, ChannelError::NotInBundle(_)), "{error}");
    let unknown =
        bundle::write(&world.source(), &world.home.path().join("x"), Some(&[version("9.9.9")]), &mut |_| {}).await;
    assert!(matches!(unknown, Err(ChannelError::NotPublished { .. })));
    assert!(!world.home.path().join("x").exists(), "a refused bundle leaves no file");
}

#[tokio::test]
async fn rejects_altered_and_truncated_bundles() {
    let world = World::new().await;
    let path = world.write("good.bundle", Some(&["1.0.0"])).await;
    let good = std::fs::read(&path).unwrap();
    let altered = world.home.path().join("altered.bundle");
    // Covers every kind of byte: names, sizes, index, signature lines, artifact.
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        std::fs::write(&altered, &bytes).unwrap();
        assert_same_or_refused(&world, &altered, at).await;
    }
    for length in (0..good.len()).step_by(97) {
        std::fs::write(&altered, &good[..length]).unwrap();
        assert_same_or_refused(&world, &altered, length).await;
    }
}

/// A bundle yields what the author signed, or an error. Padding and untrusted comments may change.
async fn assert_same_or_refused(world: &World, path: &Path, at: usize) {
    let Ok(source) = world.open(path) else { return };
    let Ok(read) = source.all().await else { return };
    assert_eq!(read.all.versions().len(), 3, "a change at {at} was accepted");
    let entry = read.all.get(&version("1.0.0")).unwrap().clone();
    let Ok(stream) = source.artifact(&entry).await else { return };
    if let Ok(bytes) = collect(stream).await {
        assert_eq!(bytes, b"the artifact of 1.0.0", "a change at {at} was accepted");
    }
}

#[tokio::test]
async fn rejects_files_that_are_not_bundles() {
    let world = World::new().await;
    let path = world.home.path().join("other.tar");
    std::fs::write(&path, b"hello").unwrap();
    let error = world.open(&path).unwrap_err();
    assert!(error.to_string().contains("not a bundle"), "{error}");
    // A tar with an absolute path, which would be written outside of the target directory.
    let evil = world.home.path().join("evil");
    std::fs::write(world.home.path().join("payload"), b"x").unwrap();
    let made =
        Command::new("tar").args(["-P", "-cf"]).arg(&evil).arg(world.home.path().join("payload")).status().unwrap();
    assert!(made.success());
    assert!(matches!(world.open(&evil), Err(ChannelError::BadBundle(_))));
}

//! A channel that is read again and again: what has not changed is not sent, and nothing that was checked is checked less.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::sync::Arc;

use common::web::{Answer, Web};
use common::{Author, options, package, version};
use milepost_channels::{ChannelError, PublicKey, Source, SourceOptions, StoreOptions, Unpublish};
use tempfile::TempDir;

/// A signed channel with 1.0.0 and 1.1.0 on a web server.
struct World {
    web: Web,
    home: TempDir,
    key: PublicKey,
    author: Author,
}

impl World {
    async fn new() -> Self {
        let (key, _) = common::key();
        let (public, home) = (key.public().clone(), tempfile::tempdir().unwrap());
        let options = StoreOptions { key: Some(key), ..StoreOptions::default() };
        let author = Author::at(home.path().to_str().unwrap(), options);
        author.publish("1.0.0").await.unwrap();
        author.publish("1.1.0").await.unwrap();
        let web = Web::start().await;
        web.put_folder(home.path());
        Self { web, home, key: public, author }
    }

    fn source(&self, options: SourceOptions) -> Source {
        Source::open(&format!("{}/{}/stable", self.web.url, package()), options).unwrap()
    }

    fn keyed(&self, minimum_serial: u64) -> Source {
        self.source(SourceOptions { key: Some(self.key.clone()), minimum_serial, ..options() })
    }

    /// The files that were asked for since so many requests.
    fn asked_since(&self, before: usize) -> Vec<String> {
        self.web.requests()[before..].iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
    }

    fn asked(&self) -> usize {
        self.web.requests().len()
    }

    async fn unpublish(&self, text: &str) {
        let (package, stable, version) = (package(), "stable".parse().unwrap(), version(text));
        let asked = Unpublish {
            package: &package,
            channel: &stable,
            version: &version,
            promote_previous: false,
            even_if_latest: false,
        };
        self.author.store.unpublish(&asked).await.unwrap();
        self.web.put_folder(self.home.path());
    }
}

#[tokio::test]
async fn what_is_known_is_not_sent_again_and_neither_are_its_signatures() {
    let world = World::new().await;
    let first = world.keyed(0).both(None).await.unwrap();
    let before = world.asked();
    let second = world.keyed(0).both(Some(&first)).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(world.asked_since(before), ["latest", "all"]);
    world.author.publish("1.2.0").await.unwrap();
    world.web.put_folder(world.home.path());
    let third = world.keyed(0).both(Some(&second)).await.unwrap();
    assert_eq!(third.all.all.versions().len(), 3);
    assert!(third.latest.serial > second.latest.serial);
}

#[tokio::test]
async fn a_list_that_changed_under_the_same_latest_is_read_with_its_new_serial() {
    let world = World::new().await;
    let first = world.keyed(0).both(None).await.unwrap();
    world.unpublish("1.0.0").await;
    let second = world.keyed(0).both(Some(&first)).await.unwrap();
    assert_eq!((second.all.all.versions().len(), second.all.all.unpublished().len()), (1, 1));
    assert!(second.all.serial > first.all.serial, "its signature was read too");
    // Without a key the unchanged document is the one that is known.
    let plain = world.source(options());
    let before = plain.both(None).await.unwrap();
    let count = world.asked();
    world.author.publish("1.0.5").await.unwrap();
    world.web.put_folder(world.home.path());
    let after = plain.both(Some(&before)).await.unwrap();
    assert_eq!((after.all.all.versions().len(), world.asked_since(count)), (2, vec!["latest".into(), "all".into()]));
}

#[tokio::test]
async fn what_is_known_does_not_serve_those_who_have_seen_more() {
    let world = World::new().await;
    let known = world.keyed(0).both(None).await.unwrap();
    let seen = known.latest.serial.unwrap() + 1;
    let error = world.keyed(seen).both(Some(&known)).await.unwrap_err();
    assert!(matches!(error, ChannelError::Replay { .. }), "{error}");
}

#[tokio::test]
async fn an_old_list_beside_a_known_latest_is_behind() {
    let world = World::new().await;
    let path = |file: &str| format!("/{}/stable/{file}", package());
    let old = std::fs::read(world.home.path().join(&path("all")[1..])).unwrap();
    world.author.publish("1.2.0").await.unwrap();
    world.web.put_folder(world.home.path());
    let plain = world.source(options());
    let known = plain.both(None).await.unwrap();
    world.web.put(&path("all"), Answer::Bytes(old));
    let error = plain.both(Some(&known)).await.unwrap_err();
    assert!(matches!(error, ChannelError::Behind), "{error}");
}

//! Repeated reads of a channel: unchanged files are not transferred again, and verification is not
//! weakened.
#![expect(clippy::unwrap_used, reason = "test code")]

mod common;

use std::sync::Arc;

use common::web::Answer;
use common::world::World;
use common::{options, package, version};
use milepost_channels::{ChannelError, SourceOptions, Unpublish};

/// The files requested since the request count `before`.
fn asked_since(world: &World, before: usize) -> Vec<String> {
    world.web.requests()[before..].iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
}

fn asked(world: &World) -> usize {
    world.web.requests().len()
}

#[tokio::test]
async fn unchanged_files_and_signatures_are_not_transferred_again() {
    let world = World::new().await;
    let first = world.keyed().both(None).await.unwrap();
    let before = asked(&world);
    let second = world.keyed().both(Some(&first)).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(asked_since(&world, before), ["latest", "all"]);
    world.author.publish("1.2.0").await.unwrap();
    world.upload();
    let third = world.keyed().both(Some(&second)).await.unwrap();
    assert_eq!(third.all.all.versions().len(), 3);
    assert!(third.latest.serial > second.latest.serial);
}

#[tokio::test]
async fn changed_list_under_the_same_latest_has_a_new_serial() {
    let world = World::new().await;
    let first = world.keyed().both(None).await.unwrap();
    let (package, stable, taken_back) = (package(), "stable".parse().unwrap(), version("1.0.0"));
    let unpublish = Unpublish {
        package: &package,
        channel: &stable,
        version: &taken_back,
        promote_previous: false,
        even_if_latest: false,
    };
    world.author.store.unpublish(&unpublish).await.unwrap();
    world.upload();
    let second = world.keyed().both(Some(&first)).await.unwrap();
    assert_eq!((second.all.all.versions().len(), second.all.all.unpublished().len()), (1, 1));
    assert!(second.all.serial > first.all.serial, "its signature was read too");
    // Without a key the unchanged document is reused.
    let plain = world.source();
    let before = plain.both(None).await.unwrap();
    let count = asked(&world);
    world.author.publish("1.0.5").await.unwrap();
    world.upload();
    let after = plain.both(Some(&before)).await.unwrap();
    assert_eq!((after.all.all.versions().len(), asked_since(&world, count)), (2, vec!["latest".into(), "all".into()]));
}

#[tokio::test]
async fn known_documents_below_the_minimum_serial_are_rejected() {
    let world = World::new().await;
    let known = world.keyed().both(None).await.unwrap();
    let seen = known.latest.serial.unwrap() + 1;
    let error = world
        .source_with(SourceOptions { key: Some(world.key.clone()), minimum_serial: seen, ..options() })
        .both(Some(&known))
        .await
        .unwrap_err();
    assert!(matches!(error, ChannelError::Replay { .. }), "{error}");
}

#[tokio::test]
async fn old_list_next_to_a_known_latest_is_behind() {
    let world = World::new().await;
    let old = world.file("all");
    world.author.publish("1.2.0").await.unwrap();
    world.upload();
    let plain = world.source();
    let known = plain.both(None).await.unwrap();
    world.put("all", Answer::Bytes(old));
    let error = plain.both(Some(&known)).await.unwrap_err();
    assert!(matches!(error, ChannelError::Behind), "{error}");
}

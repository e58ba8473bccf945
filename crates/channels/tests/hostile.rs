//! Malicious channels and failing servers: everything is rejected or reported as transient, with a
//! clear message.
#![expect(clippy::expect_used, reason = "test code")]

mod common;

use std::fs;

use common::web::{Answer, Web};
use common::world::World;
use common::{collect, latest, options, package};
use milepost_channels::{ChannelError, Source, SourceOptions, Unpublish};
use milepost_model::Digest;
use milepost_model::channel::Entry;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, ChannelError>, kind: &str) -> String {
    let error = result.expect_err("was accepted");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(!error.is_transient(), "{error}");
    error.to_string()
}

#[track_caller]
fn to_retry<T: std::fmt::Debug>(result: Result<T, ChannelError>, kind: &str) -> String {
    let error = result.expect_err("was accepted");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.is_transient(), "{error}");
    error.to_string()
}

#[tokio::test]
async fn valid_channel_is_read_with_and_without_its_key() {
    let world = World::new().await;
    for source in [world.source(), world.keyed()] {
        let read = latest(&source).await.unwrap();
        let all = source.all_for(&read).await.unwrap().all;
        let entry = all.latest().unwrap();
        let bytes = collect(source.artifact(entry).await.unwrap()).await.unwrap();
        assert_eq!(bytes, b"the artifact of 1.1.0");
        let again = source.latest(read.tag.as_deref()).await.unwrap();
        assert!(matches!(again, milepost_channels::LatestAnswer::NotModified), "{again:?}");
    }
}

#[tokio::test]
async fn server_failures_are_transient() {
    let world = World::new().await;
    let source = world.source();
    world.put("latest", Answer::Status(503));
    to_retry(latest(&source).await, "unreachable");
    world.put("latest", Answer::Cut(world.file("latest")));
    let said = to_retry(latest(&source).await, "truncated");
    assert!(said.contains("ended after"), "{said}");
    let closed = Source::open("http://127.0.0.1:9/team/shop/stable", options()).unwrap();
    to_retry(latest(&closed).await, "unreachable");
}

#[tokio::test]
async fn reports_a_missing_channel() {
    let world = World::new().await;
    world.put("latest", Answer::Status(404));
    let said = refused(latest(&world.source()).await, "gone");
    assert!(said.contains("/team/shop/stable/latest` does not exist"), "{said}");
    world.put("all", Answer::Status(410));
    refused(world.source().all().await, "gone");
    world.put("all", Answer::Status(403));
    let error = world.source().all().await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
}

#[tokio::test]
async fn follows_redirects_only_within_the_host() {
    let world = World::new().await;
    world.web.put("/moved/latest", Answer::Redirect(world.path("latest")));
    let moved = Source::open(&format!("{}/moved", world.web.url), options()).unwrap();
    latest(&moved).await.unwrap();

    let other = Web::start().await;
    other.put("/evil", Answer::Bytes(world.file("latest")));
    world.put("latest", Answer::Redirect(format!("{}/evil", other.url)));
    let said = refused(latest(&world.source()).await, "redirect");
    assert!(said.contains(&other.url), "{said}");
    assert!(other.requests().is_empty(), "the other host was asked");

    let entry = world.source().all().await.unwrap().all.latest().unwrap().clone();
    let hex = entry.id.digest().unwrap().hex();
    world.put(&format!("artifacts/{hex}"), Answer::Redirect(format!("{}/evil", other.url)));
    let error = world.source().artifact(&entry).await.err().unwrap();
    assert_eq!(error.kind(), "redirect");
    world.web.put("/loop/latest", Answer::Redirect("/loop/latest".to_owned()));
    let looped = Source::open(&format!("{}/loop", world.web.url), options()).unwrap();
    refused(latest(&looped).await, "unusable");
}

#[tokio::test]
async fn rejects_invalid_index_files() {
    let world = World::new().await;
    let good = String::from_utf8(world.file("all")).unwrap();
    let half = &good[..good.len() / 2];
    let in_stable = good.replace("\"1.1.0\"", "\"1.1.0-beta.1\"");
    for bad in ["", "{}", "[1]", "<html>", half, &in_stable, &good.replace("\"all\"", "\"channel\"")] {
        world.put_text("all", bad);
        let said = refused(world.source().all().await, "damaged");
        assert!(said.contains("`all`"), "{said}");
    }
    world.put_text("latest", &"x".repeat(100 << 10));
    refused(latest(&world.source()).await, "too_large");
}

#[tokio::test]
async fn rejects_other_packages_and_channels() {
    let world = World::new().await;
    let other_package = SourceOptions { package: Some("team/other".parse().unwrap()), ..options() };
    refused(latest(&world.source_with(other_package.clone())).await, "wrong_channel");
    refused(world.source_with(other_package).all().await, "wrong_channel");
    let other_channel = SourceOptions { channel: Some("beta".parse().unwrap()), ..options() };
    refused(latest(&world.source_with(other_channel)).await, "wrong_channel");
}

#[tokio::test]
async fn entry_from_the_future_is_a_clock_error() {
    let world = World::new().await;
    for file in ["latest", "all"] {
        let text = String::from_utf8(world.file(file)).unwrap().replace("2026-03-01T12:00:00Z", "2026-03-01T12:30:00Z");
        world.put_text(file, &text);
    }
    let said = refused(latest(&world.source()).await, "clock");
    assert!(said.contains("clock"), "{said}");
    refused(world.source().all().await, "clock");
}

#[tokio::test]
async fn rejects_other_and_truncated_artifacts() {
    let world = World::new().await;
    let entry = world.source().all().await.unwrap().all.latest().unwrap().clone();
    let name = format!("artifacts/{}", entry.id.digest().unwrap().hex());
    let fetched = async || collect(world.source().artifact(&entry).await?).await;
    let good = world.file(&name);
    world.put(&name, Answer::Bytes(b"the artifact of 6.6.6".to_vec()));
    refused(fetched().await, "digest_mismatch");
    world.put(&name, Answer::Bytes(good[..5].to_vec()));
    refused(fetched().await, "digest_mismatch");
    world.put(&name, Answer::Cut(good.clone()));
    to_retry(fetched().await, "truncated");
    world.put(&name, Answer::Status(404));
    refused(fetched().await, "gone");
    world.put(&name, Answer::Bytes(good));
    let small = SourceOptions { max_artifact_bytes: 5, ..options() };
    let bytes = world.source_with(small).artifact(&entry).await.unwrap();
    refused(collect(bytes).await, "too_large");
}

#[tokio::test]
async fn short_ids_are_read_but_not_fetched() {
    let world = World::new().await;
    let seed = r#"{"name": "stable", "type": "channel", "package": "team/shop",
        "latest": {"version": "1.2.3", "id": "461324714c7d", "createTime": "2019-09-12T17:39:04Z"}}"#;
    world.put_text("latest", seed);
    let entry = latest(&world.source()).await.unwrap().latest.latest.unwrap();
    let error = world.source().artifact(&entry).await.err().unwrap();
    assert_eq!(error.kind(), "no_artifact");
}

#[tokio::test]
async fn key_requires_a_valid_signature() {
    let world = World::new().await;
    let keyed = world.keyed();
    let good = world.file("latest.minisig");

    world.put("latest.minisig", Answer::Status(404));
    refused(latest(&keyed).await, "missing_signature");
    latest(&world.source()).await.expect("without a key it is still readable");

    world.put("latest.minisig", Answer::Bytes(world.file("all.minisig")));
    refused(latest(&keyed).await, "bad_signature");
    world.put_text("latest.minisig", "no signature at all");
    refused(latest(&keyed).await, "bad_signature");
    world.put("latest.minisig", Answer::Bytes(good));
    let altered = String::from_utf8(world.file("latest")).unwrap().replace("1.1.0", "9.1.0");
    world.put_text("latest", &altered);
    refused(latest(&keyed).await, "bad_signature");

    let (other, _) = common::key();
    let stranger = SourceOptions { key: Some(other.public().clone()), ..options() };
    let said = refused(world.source_with(stranger).all().await, "bad_signature");
    assert!(said.contains(&world.key.id()), "{said}");
}

#[tokio::test]
async fn rejects_signatures_for_another_channel() {
    let world = World::new().await;
    world.author.publish("1.2.0-beta.1").await.unwrap();
    let beta = world.home.path().join(format!("{}/beta", package()));
    for file in ["latest", "latest.minisig", "all", "all.minisig"] {
        world.put(file, Answer::Bytes(fs::read(beta.join(file)).unwrap()));
    }
    // Genuine beta files of the author, served as the stable channel.
    let stable = SourceOptions { key: Some(world.key.clone()), channel: Some("stable".parse().unwrap()), ..options() };
    refused(latest(&world.source_with(stable)).await, "wrong_channel");

    // A list whose content does not match its signature.
    world.put("latest", Answer::Bytes(fs::read(beta.join("latest")).unwrap()));
    let renamed = String::from_utf8(fs::read(beta.join("all")).unwrap()).unwrap();
    world.put_text("all", &renamed.replace("\"beta\"", "\"gamma\""));
    refused(world.keyed().all().await, "bad_signature");
}

#[tokio::test]
async fn rejects_replayed_indexes() {
    let world = World::new().await;
    let old: Vec<_> = ["latest", "latest.minisig", "all", "all.minisig"].map(|file| (file, world.file(file))).into();
    let before = latest(&world.keyed()).await.unwrap().serial.unwrap();
    world.author.publish("1.2.0").await.unwrap();
    world.upload();
    let seen = latest(&world.keyed()).await.unwrap().serial.unwrap();
    assert!(seen > before);
    for (file, bytes) in old {
        world.put(file, Answer::Bytes(bytes));
    }
    let knows = SourceOptions { key: Some(world.key.clone()), minimum_serial: seen, ..options() };
    let said = refused(latest(&world.source_with(knows.clone())).await, "replay");
    assert!(said.contains(&seen.to_string()), "{said}");
    refused(world.source_with(knows).all().await, "replay");
}

#[tokio::test]
async fn list_older_than_latest_is_transient() {
    let world = World::new().await;
    let old = world.file("all");
    world.author.publish("1.2.0").await.unwrap();
    world.upload();
    world.put("all", Answer::Bytes(old));
    let read = latest(&world.source()).await.unwrap();
    to_retry(world.source().all_for(&read).await, "behind");
}

#[tokio::test]
async fn invalid_address_is_rejected_without_showing_its_password() {
    for bad in ["ftp://me:hunter2@host/x", "s3://me:hunter2@bucket/x", "https://"] {
        let error = Source::open(bad, options()).expect_err(bad).to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let hidden = Source::open("https://me:hunter2@example.invalid/a/b", options()).unwrap();
    assert_eq!(hidden.place(), "https://example.invalid/a/b");
}

#[tokio::test]
async fn list_from_before_an_unpublish_is_behind() {
    let world = World::new().await;
    let old = ["all", "all.minisig"].map(|file| (file, world.file(file)));
    let (package, channel, version) = (package(), "stable".parse().unwrap(), common::version("1.1.0"));
    let (promote_previous, even_if_latest) = (true, true);
    let asked = Unpublish { package: &package, channel: &channel, version: &version, promote_previous, even_if_latest };
    world.author.store.unpublish(&asked).await.unwrap();
    world.upload();
    let read = latest(&world.keyed()).await.unwrap();
    world.keyed().all_for(&read).await.unwrap();
    for (file, bytes) in old {
        world.put(file, Answer::Bytes(bytes));
    }
    to_retry(world.keyed().all_for(&read).await, "behind");
}

#[tokio::test]
async fn remote_index_cannot_name_a_local_registry() {
    let web = Web::start().await;
    let port = web.url.rsplit(':').next().unwrap();
    let elsewhere = ["https://channels.example.invalid/team/shop/stable", "s3://bucket/team/shop/stable"];
    let aws = Some(vec![("AWS_REGION".to_owned(), "nowhere".to_owned())]);
    for place in elsewhere {
        let source = Source::open(place, SourceOptions { aws: aws.clone(), ..options() }).unwrap();
        for host in ["localhost", "127.0.0.1", "127.1", "0.0.0.0", "a.localhost"] {
            let mut entry = Entry::new(common::version("1.0.0"), Digest::of(b""), common::now());
            entry.registry = Some(format!("{host}:{port}/team/shop"));
            let said = refused(source.artifact(&entry).await.map(drop), "registry");
            assert!(said.contains("on this machine"), "{place} {host}: {said}");
        }
    }
    assert!(web.requests().is_empty());
}

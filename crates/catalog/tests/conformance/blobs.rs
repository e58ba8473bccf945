use milepost_catalog::NewBlob;
use milepost_model::{Code, Digest, PlanName, UnitKind};

use crate::common::*;
use crate::facts::RefusalFacts;

const MINUTE: i64 = 60_000;
const GRACE: i64 = 60 * MINUTE;

async fn registered_blobs_are_found(t: &Fixture) {
    let (file, root) = tree_digests("one");
    assert_eq!(t.catalog.blobs_missing(vec![root, file]).await.unwrap(), [root, file]);
    let new = vec![NewBlob { digest: file, size: 11, offset: 7, children: None }, blob(root, Some(vec![file]))];
    t.register("p1", new).await.unwrap();
    assert!(t.catalog.blobs_missing(vec![file, root]).await.unwrap().is_empty());
    let found = t.catalog.blob_locate(vec![file, Digest::of(b"other")]).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pack.as_str(), found[0].size, found[0].offset, found[0].is_directory), ("p1", 11, 7, false));
    assert!(t.catalog.known_packs().await.unwrap().contains("p1"));
}

async fn known_blobs_keep_their_location(t: &Fixture) {
    let file = Digest::of(b"x");
    t.register("p1", vec![blob(file, None), blob(file, None)]).await.unwrap();
    t.register("p2", vec![blob(file, None), blob(Digest::of(b"y"), None)]).await.unwrap();
    assert_eq!(t.catalog.blob_locate(vec![file]).await.unwrap()[0].pack, "p1");
    assert_eq!(t.count("blobs").await, 2);
}

async fn a_directory_is_registered_only_with_its_children(t: &Fixture) {
    let (file, root) = tree_digests("one");
    let refusal = refused(t.register("p1", vec![blob(root, Some(vec![file]))]).await);
    assert_eq!((refusal.code, refusal.lines()), (Code::MissingBlobs, vec![file.to_string()]));
    assert_eq!((t.count("blobs").await, t.count("packs").await), (0, 0));
    t.register("p1", vec![blob(file, None)]).await.unwrap();
    t.register("p2", vec![blob(root, Some(vec![file]))]).await.unwrap();
    assert_eq!(t.count("tree_edges").await, 1);
}

async fn a_pack_of_many_files_is_registered_whole(t: &Fixture) {
    let files: Vec<Digest> = (0..1234).map(|number| Digest::of(format!("file {number}").as_bytes())).collect();
    let root = Digest::of(b"root");
    let new = files.iter().map(|file| blob(*file, None)).chain([blob(root, Some(files.clone()))]).collect();
    t.register("p1", new).await.unwrap();
    assert!(t.catalog.blobs_missing(files.clone()).await.unwrap().is_empty());
    assert_eq!((t.count("blobs").await, t.count("tree_edges").await), (1235, 1234));
    t.clock.advance_ms(GRACE + MINUTE);
    let report = t.catalog.sweep(GRACE).await.unwrap();
    assert_eq!((report.blobs, report.bytes), (1235, 123_500));
}

async fn unused_blobs_are_swept_after_the_grace_time(t: &Fixture) {
    t.tree("one").await;
    t.clock.advance_ms(GRACE - 1);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap(), milepost_catalog::SweepReport::default());
    t.clock.advance_ms(2);
    let report = t.catalog.sweep(GRACE).await.unwrap();
    assert_eq!((report.blobs, report.bytes, report.packs.len()), (2, 200, 1));
    assert!(t.catalog.known_packs().await.unwrap().is_empty());
}

async fn looking_up_a_blob_postpones_its_sweep(t: &Fixture) {
    let root = t.tree("one").await;
    t.clock.advance_ms(GRACE);
    assert!(t.catalog.blobs_missing(vec![root]).await.unwrap().is_empty());
    t.clock.advance_ms(GRACE - 1);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().blobs, 0);
    t.clock.advance_ms(2);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().blobs, 2);
}

async fn blobs_of_a_version_are_never_swept(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
    t.clock.advance_ms(2 * GRACE);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().blobs, 0);
    t.delete(UnitKind::Package, "hello", "1").await.unwrap();
    let report = t.catalog.sweep(GRACE).await.unwrap();
    assert_eq!((report.contents, report.blobs), (2, 2));
    let (one, two) = (tree_digests("one"), tree_digests("two"));
    let asked = vec![one.0, one.1, two.0, two.1];
    assert_eq!(t.catalog.blobs_missing(asked).await.unwrap(), [one.0, one.1]);
}

async fn a_blob_first_sent_as_a_file_can_become_a_directory(t: &Fixture) {
    let (file, root) = tree_digests("one");
    t.register("p1", vec![blob(root, None)]).await.unwrap();
    t.register("p2", vec![blob(file, None), blob(root, Some(vec![file]))]).await.unwrap();
    assert!(t.catalog.blob_locate(vec![root]).await.unwrap()[0].is_directory);
    t.put([static_item("/", root)]).await;
    t.clock.advance_ms(2 * GRACE);
    assert_eq!(t.catalog.sweep(GRACE).await.unwrap().blobs, 0);
}

async fn storage_why_lists_the_versions_that_keep_a_blob(t: &Fixture) {
    let root = t.tree("one").await;
    let (file, _) = tree_digests("one");
    assert!(t.catalog.storage_why(file).await.unwrap().is_empty());
    t.put([package("hello", root), static_item("/s", root)]).await;
    let why = ["app shop: package hello version 1", "app shop: static /s version 1"];
    assert_eq!(t.catalog.storage_why(root).await.unwrap(), why);
    assert_eq!(t.catalog.storage_why(file).await.unwrap(), why);
    t.remove(UnitKind::Static, "/s").await.unwrap();
    assert_eq!(t.catalog.storage_why(file).await.unwrap()[1], "app shop: static /s version 1 (retired)");
    assert_eq!(refused(t.catalog.storage_why(Digest::of(b"no")).await).code, Code::BlobNotFound);
}

async fn a_plan_limits_the_stored_bytes(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let big = |text: &str, size| NewBlob { digest: Digest::of(text.as_bytes()), size, offset: 0, children: None };
    t.register("p1", vec![big("a", 1 << 29)]).await.unwrap();
    assert_eq!(t.catalog.quota_left(&t.app).await.unwrap(), Some(1 << 29));
    assert_eq!(refused(t.register("p2", vec![big("b", (1 << 29) + 1)]).await).code, Code::PlanLimit);
    assert_eq!((t.count("blobs").await, t.count("packs").await), (1, 1));
    // Known bytes do not count again.
    t.register("p3", vec![big("a", 1 << 29), big("c", 1 << 29)]).await.unwrap();
    assert_eq!(t.catalog.app_get(&t.app).await.unwrap().stored_bytes, 1 << 30);
    t.set_plan(PlanName::Unlimited).await;
    assert_eq!(t.catalog.quota_left(&t.app).await.unwrap(), None);
}

on_both_engines!(
    registered_blobs_are_found,
    known_blobs_keep_their_location,
    a_directory_is_registered_only_with_its_children,
    a_pack_of_many_files_is_registered_whole,
    unused_blobs_are_swept_after_the_grace_time,
    looking_up_a_blob_postpones_its_sweep,
    blobs_of_a_version_are_never_swept,
    a_blob_first_sent_as_a_file_can_become_a_directory,
    storage_why_lists_the_versions_that_keep_a_blob,
    a_plan_limits_the_stored_bytes,
);

//! The names of a version.

use milepost_model::Next;
use milepost_model::refusal::View;
use milepost_model::{Code, Selector, UnitKind, Warning};

use crate::common::facts::RefusalFacts;
use crate::common::*;

const FUNCTION: UnitKind = UnitKind::Function;

/// Deploys a function with two versions, the second labelled `v1.0.2`.
async fn two_versions(t: &Fixture) -> milepost_model::snapshot::Version {
    t.deploy("hello", "one").await;
    let tree = t.tree("two").await;
    t.put([package("hello", tree), function_on("hello", "hello").labelled("v1.0.2")]).await;
    t.version(FUNCTION, "hello", "latest").await.unwrap()
}

async fn all_names_select_the_same_version(t: &Fixture) {
    let latest = two_versions(t).await;
    t.alias("hello", "stable", "2").await;
    let digest = latest.digest.to_string();
    for name in ["2", &latest.uid, "v1.0.2", "1.0.2", "@stable", "@latest", &digest, &digest[..15]] {
        assert_eq!(t.version(FUNCTION, "hello", name).await.unwrap().number, 2, "{name}");
    }
    assert_eq!(latest.label.unwrap().as_str(), "v1.0.2");
}

async fn a_label_without_v_is_found_with_it(t: &Fixture) {
    t.put([config("a", 1).labelled("2.0")]).await;
    assert_eq!(t.version(UnitKind::Config, "config", "v2.0").await.unwrap().number, 1);
}

async fn only_functions_can_have_aliases(t: &Fixture) {
    t.deploy("hello", "one").await;
    let refusal = refused(t.version(UnitKind::Package, "hello", "@stable").await);
    assert_eq!(refusal.code, Code::AliasNotFound);
    assert!(refusal.message.contains("only functions have aliases"), "{}", refusal.message);
    let how = "name the version by its number, uid or label".to_owned();
    assert_eq!(refusal.next, [Next::Correct { how }]);
}

async fn a_package_version_is_held_by_the_releases_whose_functions_run_it(t: &Fixture) {
    let one = t.deploy("hello", "one").await.release.unwrap().id;
    let tree = t.tree("two").await;
    let two = t.put([package("hello", tree)]).await.release.unwrap().id;
    let held = async |number| t.version(UnitKind::Package, "hello", number).await.unwrap().releases;
    assert_eq!(held("1").await, [two.clone(), one]);
    assert_eq!(held("2").await, [two]);
}

async fn a_function_version_is_held_by_the_releases_whose_routes_are_pinned_to_it(t: &Fixture) {
    let one = t.deploy("hello", "one").await.release.unwrap().id;
    let pinned = t.put([route("GET /one", "hello", "1")]).await.release.unwrap().id;
    let two = t.deploy("hello", "two").await.release.unwrap().id;
    let held = async |number| t.version(FUNCTION, "hello", number).await.unwrap().releases;
    assert_eq!(held("1").await, [two.clone(), pinned, one]);
    assert_eq!(held("2").await, [two]);
}

async fn an_unknown_name_suggests_the_closest(t: &Fixture) {
    two_versions(t).await;
    t.alias("hello", "stable", "2").await;
    let refusal = refused(t.version(FUNCTION, "hello", "v1.0.3").await);
    assert_eq!(refusal.code, Code::VersionNotFound);
    assert!(refusal.message.starts_with("function hello has no version `v1.0.3`; the newest is 2"), "{refusal}");
    assert_eq!(refusal.close_names(), ["v1.0.2"]);
    assert_eq!(refused(t.version(FUNCTION, "hello", "lates").await).close_names(), ["latest"]);
    let refusal = refused(t.version(FUNCTION, "hello", "@stabel").await);
    assert_eq!(refusal.code, Code::AliasNotFound);
    assert_eq!(refusal.close_names(), ["stable"]);
    let refusal = refused(t.version(FUNCTION, "hello", "somethingelse").await);
    let versions = View::Versions { kind: FUNCTION, name: "hello".to_owned() };
    assert_eq!(refusal.next, [Next::See { view: versions }]);
    assert_eq!(refused(t.version(FUNCTION, "helo", "1").await).close_names(), ["hello"]);
    assert_eq!(refused(t.version(FUNCTION, "hello", "sha256:00000000").await).code, Code::VersionNotFound);
}

async fn a_digest_of_equal_versions_selects_the_newest(t: &Fixture) {
    let latest = two_versions(t).await;
    t.put([function_on("hello", "hello").forced()]).await;
    assert_eq!(t.version(FUNCTION, "hello", &latest.digest.to_string()).await.unwrap().number, 3);
}

async fn an_ambiguous_digest_prefix_is_rejected(t: &Fixture) {
    // Real digests with a common prefix are rare, so one is made with SQL.
    two_versions(t).await;
    let digest = t.version(FUNCTION, "hello", "1").await.unwrap().digest;
    let mut near = *digest.as_bytes();
    near[31] ^= 1;
    t.set_digest(2, near).await;
    let refusal = refused(t.version(FUNCTION, "hello", &digest.to_string()[..20]).await);
    assert_eq!(refusal.code, Code::InvalidSelector);
    assert_eq!(t.version(FUNCTION, "hello", &digest.to_string()).await.unwrap().number, 1);
}

async fn a_deleted_version_is_reported_by_every_name(t: &Fixture) {
    let latest = two_versions(t).await;
    t.delete(FUNCTION, "hello", "2").await.unwrap();
    for name in ["2", &latest.uid, "v1.0.2", "1.0.2"] {
        assert_eq!(refused(t.version(FUNCTION, "hello", name).await).code, Code::VersionDeleted, "{name}");
    }
    assert_eq!(t.version(FUNCTION, "hello", "latest").await.unwrap().number, 1);
}

async fn labels_are_never_reused(t: &Fixture) {
    two_versions(t).await;
    let again = || function_on("hello", "hello").forced().labelled("v1.0.2");
    assert_eq!(t.refuse([again()]).await.code, Code::LabelTaken);
    t.delete(FUNCTION, "hello", "v1.0.2").await.unwrap();
    assert_eq!(t.refuse([again()]).await.code, Code::LabelTaken);
    // Labels of other units are independent.
    t.put([config("a", 1).labelled("v1.0.2")]).await;
}

async fn a_uid_cannot_be_a_label(t: &Fixture) {
    let latest = two_versions(t).await;
    let refusal = t.refuse([config("a", 1).labelled(&latest.uid)]).await;
    assert_eq!(refusal.code, Code::LabelTaken);
}

async fn a_lower_label_warns_and_becomes_latest(t: &Fixture) {
    two_versions(t).await;
    let outcome = t.put([function_on("hello", "hello").forced().labelled("v1.0.1")]).await;
    let (label, highest) = ("v1.0.1".to_owned(), "v1.0.2".to_owned());
    assert_eq!(outcome.notices, [Warning::LowerLabel { label, highest, unit: "function hello".to_owned() }]);
    assert_eq!(t.version(FUNCTION, "hello", "latest").await.unwrap().number, 3);
    let higher = t.put([function_on("hello", "hello").forced().labelled("v1.0.10")]).await;
    assert!(higher.notices.is_empty());
}

async fn only_the_description_can_be_edited(t: &Fixture) {
    let before = two_versions(t).await;
    let describe = |text: &str| {
        t.catalog.version_describe(&t.app, "eve", key(FUNCTION, "hello"), Selector::Number(2), text.to_owned())
    };
    let after = describe("the good one").await.unwrap();
    assert_eq!(after.description, "the good one");
    assert_eq!((after.digest, &after.uid, after.created_at), (before.digest, &before.uid, before.created_at));
    let event = t.events().await.pop().unwrap();
    assert_eq!((event.kind.as_str(), event.actor.as_str()), ("version.described", "eve"));
}

on_both_engines!(
    all_names_select_the_same_version,
    a_label_without_v_is_found_with_it,
    only_functions_can_have_aliases,
    a_function_version_is_held_by_the_releases_whose_routes_are_pinned_to_it,
    a_package_version_is_held_by_the_releases_whose_functions_run_it,
    an_unknown_name_suggests_the_closest,
    a_digest_of_equal_versions_selects_the_newest,
    an_ambiguous_digest_prefix_is_rejected,
    a_deleted_version_is_reported_by_every_name,
    labels_are_never_reused,
    a_uid_cannot_be_a_label,
    a_lower_label_warns_and_becomes_latest,
    only_the_description_can_be_edited,
);

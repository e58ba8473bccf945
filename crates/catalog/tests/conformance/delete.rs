use milepost_catalog::{LiveTarget, RollbackInput, VersionsToDelete};
use milepost_model::change::{Change, UnitAction};
use milepost_model::release::ReleaseState;
use milepost_model::{Code, UnitKind, Warning};

use crate::common::*;
use crate::facts::RefusalFacts;

const FUNCTION: UnitKind = UnitKind::Function;
const PACKAGE: UnitKind = UnitKind::Package;

async fn deploy(t: &Fixture, codes: &[&str]) -> Vec<String> {
    let mut releases = Vec::new();
    for code in codes {
        releases.push(t.deploy("hello", code).await.release.unwrap().id);
    }
    releases
}

async fn deleting_the_newest_version_reverts_latest_and_live_at_once(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    let outcome = t.delete(FUNCTION, "hello", "2").await.unwrap();
    let actions: Vec<_> = outcome.versions.iter().map(|unit| (unit.action, unit.number)).collect();
    assert_eq!(actions, [(UnitAction::Deleted, Some(2)), (UnitAction::Reverted, Some(1))]);
    let release = outcome.release.unwrap();
    assert_eq!(t.live_id().await, release.id);
    assert_eq!(t.release("latest").await.id, release.id);
    assert_eq!(t.objects("live").await["function hello"], 1);
    assert_eq!(t.version(FUNCTION, "hello", "latest").await.unwrap().number, 1);
    // The release that held it is expired, and the number is not reused.
    assert_eq!(outcome.expired.len(), 1);
    assert_eq!(t.release(&outcome.expired[0]).await.state, ReleaseState::Expired);
    t.deploy("hello", "three").await;
    assert_eq!(t.numbers(FUNCTION, "hello").await, [3, 1]);
}

async fn deleting_a_version_in_use_lists_every_reference(t: &Fixture) {
    let releases = deploy(t, &["one"]).await;
    t.alias("hello", "stable", "1").await;
    t.alias("hello", "canary", "1").await;
    t.put([route("GET /a", "hello", "1"), timer("n", "hello", "1")]).await;
    t.tag("beta", &releases[0]).await.unwrap();
    deploy(t, &["two"]).await;
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(releases[0].clone()), String::new()).await.unwrap();
    let before = t.rows().await;
    let refusal = refused(t.delete(FUNCTION, "hello", "1").await);
    assert_eq!(refusal.code, Code::InUse);
    let what = "function hello version 1";
    let expected = [
        format!("alias canary points at {what}"),
        format!("alias stable points at {what}"),
        format!("route GET /a is pinned to {what}"),
        format!("timer n is pinned to {what}"),
        format!("release {} (tag beta, live, pinned) holds {what}", releases[0]),
    ];
    assert_eq!(refusal.lines(), expected);
    assert_eq!(t.rows().await, before);
}

async fn each_single_reference_blocks_a_delete(t: &Fixture) {
    let releases = deploy(t, &["one", "two"]).await;
    let blocked = async || refused(t.delete(FUNCTION, "hello", "1").await).lines().len();
    t.alias("hello", "stable", "1").await;
    assert_eq!(blocked().await, 1);
    t.alias("hello", "stable", "2").await;
    t.tag("beta", &releases[0]).await.unwrap();
    assert_eq!(blocked().await, 1);
    t.tag("beta", &releases[1]).await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(releases[0].clone()), String::new()).await.unwrap();
    assert_eq!(blocked().await, 1);
    t.catalog.live_set(&t.app, "x", LiveTarget::Follow, String::new()).await.unwrap();
    t.put([route("GET /a", "hello", "1")]).await;
    assert_eq!(blocked().await, 1);
    t.put([route("GET /a", "hello", "latest")]).await;
    t.delete(FUNCTION, "hello", "1").await.unwrap();
}

async fn a_release_with_a_trigger_pinned_to_the_version_blocks_its_delete(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    let id = t.put([route("GET /a", "hello", "1")]).await.release.unwrap().id;
    t.tag("beta", &id).await.unwrap();
    t.put([route("GET /a", "hello", "latest")]).await;
    let refusal = refused(t.delete(FUNCTION, "hello", "1").await);
    assert_eq!(refusal.lines(), [format!("release {id} (tag beta) holds function hello version 1")]);
}

async fn deleting_an_old_version_expires_the_untagged_releases_that_hold_it(t: &Fixture) {
    let releases = deploy(t, &["one", "two"]).await;
    let head = t.catalog.app_get(&t.app).await.unwrap().head;
    let outcome = t.delete(FUNCTION, "hello", "1").await.unwrap();
    assert_eq!(outcome.expired, [releases[0].clone()]);
    assert!(outcome.release.is_none() && outcome.app_version.is_none());
    assert_eq!(t.catalog.app_get(&t.app).await.unwrap().head, head);
    assert_eq!(t.active().await, [releases[1].clone()]);
}

async fn deleting_the_only_version_removes_the_function(t: &Fixture) {
    deploy(t, &["one"]).await;
    let outcome = t.delete(FUNCTION, "hello", "1").await.unwrap();
    let actions: Vec<_> = outcome.versions.iter().map(|unit| unit.action).collect();
    assert_eq!(actions, [UnitAction::Deleted, UnitAction::Removed]);
    assert_eq!(refused(t.version(FUNCTION, "hello", "latest").await).code, Code::UnitNotFound);
    assert!(!t.objects("live").await.contains_key("function hello"));
    t.put([function_on("hello", "hello")]).await;
    assert_eq!(t.numbers(FUNCTION, "hello").await, [2]);
}

async fn the_only_version_of_a_needed_function_is_not_deleted(t: &Fixture) {
    deploy(t, &["one"]).await;
    t.put([route("GET /a", "hello", "latest")]).await;
    let before = t.rows().await;
    let refusal = refused(t.delete(FUNCTION, "hello", "1").await);
    assert_eq!(
        (refusal.code, &refusal.lines()[..]),
        (Code::StillReferenced, &["route GET /a needs function hello".to_owned()][..])
    );
    assert_eq!(t.rows().await, before);
}

async fn deleting_a_package_version_deletes_the_functions_built_on_it(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    t.put([function_on("other", "hello")]).await;
    let outcome = t.delete(PACKAGE, "hello", "2").await.unwrap();
    let gone: Vec<String> =
        outcome.versions.iter().map(|unit| format!("{:?} {} {}", unit.action, unit.kind, unit.name)).collect();
    let expected = [
        "Deleted package hello",
        "Deleted function hello",
        "Deleted function other",
        "Reverted package hello",
        "Reverted function hello",
        "Removed function other",
    ];
    assert_eq!(gone, expected);
    assert_eq!(t.objects("live").await["function hello"], 1);
}

async fn a_package_version_is_not_deleted_while_a_function_on_it_is_in_use(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    t.alias("hello", "stable", "2").await;
    let before = t.rows().await;
    let refusal = refused(t.delete(PACKAGE, "hello", "2").await);
    assert_eq!(refusal.lines(), ["alias stable points at function hello version 2"]);
    assert_eq!(t.rows().await, before);
    assert_eq!(t.numbers(PACKAGE, "hello").await, [2, 1]);
}

async fn deleting_all_versions_is_atomic(t: &Fixture) {
    deploy(t, &["one", "two", "three"]).await;
    t.alias("hello", "stable", "2").await;
    let before = t.rows().await;
    assert_eq!(refused(t.delete(FUNCTION, "hello", "all").await).code, Code::InUse);
    assert_eq!(t.rows().await, before);
    t.alias("hello", "stable", "3").await;
    assert_eq!(refused(t.delete(FUNCTION, "hello", "all").await).code, Code::InUse);
    t.catalog.alias_delete(&t.app, "x", "hello".parse().unwrap(), "stable".parse().unwrap()).await.unwrap();
    t.delete(FUNCTION, "hello", "all").await.unwrap();
    assert_eq!(refused(t.version(FUNCTION, "hello", "1").await).code, Code::UnitNotFound);
    t.delete(PACKAGE, "hello", "all").await.unwrap();
    let left: Vec<String> = t.objects("live").await.into_keys().collect();
    assert_eq!(left, ["environment python"]);
}

async fn a_delete_that_leaves_nothing_live_is_rejected(t: &Fixture) {
    deploy(t, &["one"]).await;
    let tree = t.tree("two").await;
    let quiet = Change { release: false, ..change([package("hello", tree), function_on("hello", "hello")]) };
    t.send(quiet).await.unwrap();
    let refusal = refused(t.delete(FUNCTION, "hello", "1").await);
    assert_eq!(refusal.code, Code::InUse);
    assert!(refusal.message.contains("nothing would be live"), "{}", refusal.message);
    t.catalog.release_create(&t.app, "x", None, String::new()).await.unwrap();
    t.delete(FUNCTION, "hello", "1").await.unwrap();
}

async fn deleting_an_unreleased_version_releases_nothing(t: &Fixture) {
    let release = deploy(t, &["one"]).await.remove(0);
    let tree = t.tree("two").await;
    t.send(Change { release: false, ..change([config("a", 1)]) }).await.unwrap();
    let quiet = Change { release: false, ..change([package("hello", tree), function_on("hello", "hello")]) };
    t.send(quiet).await.unwrap();
    let outcome = t.delete(FUNCTION, "hello", "2").await.unwrap();
    assert!(outcome.release.is_none() && outcome.app_version.is_some(), "{outcome:?}");
    assert_eq!((t.live_id().await, t.active().await), (release.clone(), vec![release]));
    assert_eq!(t.objects("head").await["function hello"], 1);
}

async fn deleting_a_live_version_warns_of_unreleased_changes(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    let outcome = t.send(Change { release: false, ..change([config("a", 1)]) }).await.unwrap();
    assert!(outcome.release.is_none());
    let outcome = t.delete(FUNCTION, "hello", "2").await.unwrap();
    assert!(outcome.release.unwrap().live);
    assert_eq!(outcome.notices, [Warning::HasUnreleasedChanges]);
    assert!(t.delete(FUNCTION, "hello", "1").await.unwrap().notices.is_empty());
}

async fn a_delete_warns_that_a_pinned_live_stays(t: &Fixture) {
    let releases = deploy(t, &["one", "two"]).await;
    t.catalog.rollback(&t.app, "x", RollbackInput { to: None, why: String::new(), dry_run: false }).await.unwrap();
    let outcome = t.delete(FUNCTION, "hello", "2").await.unwrap();
    let release = outcome.release.unwrap().id;
    let live = Some(releases[0].clone());
    assert_eq!(outcome.notices, [Warning::NewReleaseNotLive { live, release, planned: false }]);
    assert_eq!(t.live_id().await, releases[0]);
}

async fn a_dry_run_delete_reports_what_the_real_one_does(t: &Fixture) {
    deploy(t, &["one", "two"]).await;
    let before = t.rows().await;
    let which = VersionsToDelete::One("2".parse().unwrap());
    let planned = t.catalog.version_delete(&t.app, "dan", key(PACKAGE, "hello"), which, true).await.unwrap();
    assert!(planned.dry_run);
    assert_eq!(t.rows().await, before);
    let real = t.delete(PACKAGE, "hello", "2").await.unwrap();
    let told = |outcome: &milepost_model::ChangeOutcome| {
        outcome.versions.iter().map(|unit| (unit.action, unit.kind, unit.number)).collect::<Vec<_>>()
    };
    assert_eq!(told(&planned), told(&real));
    assert_eq!(planned.expired, real.expired);
}

async fn only_versions_of_functions_and_packages_can_be_deleted(t: &Fixture) {
    t.put([config("a", 1)]).await;
    assert_eq!(refused(t.delete(UnitKind::Config, "config", "1").await).code, Code::InvalidRequest);
    assert_eq!(refused(t.delete(FUNCTION, "hello", "1").await).code, Code::UnitNotFound);
    deploy(t, &["one", "two"]).await;
    t.delete(FUNCTION, "hello", "1").await.unwrap();
    assert_eq!(refused(t.delete(FUNCTION, "hello", "1").await).code, Code::VersionDeleted);
}

on_both_engines!(
    deleting_the_newest_version_reverts_latest_and_live_at_once,
    deleting_a_version_in_use_lists_every_reference,
    each_single_reference_blocks_a_delete,
    a_release_with_a_trigger_pinned_to_the_version_blocks_its_delete,
    deleting_an_old_version_expires_the_untagged_releases_that_hold_it,
    deleting_the_only_version_removes_the_function,
    the_only_version_of_a_needed_function_is_not_deleted,
    deleting_a_package_version_deletes_the_functions_built_on_it,
    a_package_version_is_not_deleted_while_a_function_on_it_is_in_use,
    deleting_all_versions_is_atomic,
    a_delete_that_leaves_nothing_live_is_rejected,
    deleting_an_unreleased_version_releases_nothing,
    deleting_a_live_version_warns_of_unreleased_changes,
    a_delete_warns_that_a_pinned_live_stays,
    a_dry_run_delete_reports_what_the_real_one_does,
    only_versions_of_functions_and_packages_can_be_deleted,
);

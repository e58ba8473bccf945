//! Removing a unit from the app.

use milepost_catalog::{LiveTarget, RollbackInput};
use milepost_model::change::Change;
use milepost_model::{Code, UnitKind};

use crate::common::facts::RefusalFacts;
use crate::common::*;

const FUNCTION: UnitKind = UnitKind::Function;

async fn a_unit_that_others_need_is_not_removed(t: &Fixture) {
    t.put([secret("TOKEN", "x")]).await;
    t.deploy("hello", "one").await;
    let secrets = ["TOKEN".parse().unwrap()].into();
    let wants = milepost_model::unit_put::FunctionPut { merge: true, secrets, ..Default::default() };
    t.put([function_with("hello", wants), timer("n", "hello", "latest")]).await;
    let before = t.rows().await;
    for (kind, name, needed_by) in [
        (
            UnitKind::Environment,
            "python",
            vec!["package hello needs environment python", "function hello needs environment python"],
        ),
        (UnitKind::Package, "hello", vec!["function hello needs package hello"]),
        (UnitKind::Secret, "TOKEN", vec!["function hello needs secret TOKEN"]),
        (FUNCTION, "hello", vec!["timer n needs function hello"]),
    ] {
        let refusal = refused(t.remove(kind, name).await);
        assert_eq!(
            (refusal.code, refusal.lines()),
            (Code::StillReferenced, needed_by.into_iter().map(str::to_owned).collect())
        );
    }
    assert_eq!(t.rows().await, before);
    let both = Change { removes: vec![key(FUNCTION, "hello"), key(UnitKind::Timer, "n")], ..Change::default() };
    t.send(both).await.unwrap();
}

async fn removing_a_function_removes_its_aliases(t: &Fixture) {
    let with = t.deploy("hello", "one").await.app_version.unwrap();
    t.alias("hello", "stable", "1").await;
    let without = t.remove(FUNCTION, "hello").await.unwrap();
    assert!(without.changed && without.release.is_some());
    assert!(t.objects(&with).await.contains_key("function hello"));
    assert!(!t.objects("head").await.contains_key("function hello"));
    assert_eq!(t.count("aliases").await, 0);
    for name in ["1", "latest", "@stable"] {
        assert_eq!(refused(t.version(FUNCTION, "hello", name).await).code, Code::UnitNotFound);
    }
    assert!(t.catalog.unit_list(&t.app, Some(FUNCTION), None, None, 10).await.unwrap().items.is_empty());
    assert_eq!(refused(t.remove(FUNCTION, "hello").await).code, Code::UnitNotFound);
    let events = t.events().await;
    assert!(events.iter().any(|event| event.kind == "unit.removed"));
    let alias = events.iter().find(|event| event.kind == "alias.deleted").unwrap();
    assert_eq!(alias.before, Some(serde_json::json!({ "number": 1 })), "{alias:?}");
}

async fn an_alias_that_a_release_follows_outlives_its_function(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    let good = t.put([route("/p", "hello", "@stable")]).await.release.unwrap();
    let both = Change { removes: vec![key(FUNCTION, "hello"), key(UnitKind::Route, "/p")], ..Change::default() };
    t.send(both).await.unwrap();
    t.clock.advance_ms(10_000);
    t.catalog.sweep(1000).await.unwrap();
    assert_eq!(t.count("aliases").await, 1, "the release can still be put live, and its route needs the alias");
    t.catalog.release_expire(&t.app, "x", good.id, String::new()).await.unwrap();
    t.catalog.sweep(1000).await.unwrap();
    assert_eq!(t.count("aliases").await, 0);
}

async fn a_recreated_unit_continues_its_numbering(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([function_on("hello", "hello").forced().labelled("v1")]).await;
    let uid = t.version(FUNCTION, "hello", "2").await.unwrap().uid;
    t.remove(FUNCTION, "hello").await.unwrap();
    let outcome = t.put([function_on("hello", "hello")]).await;
    assert_eq!(outcome.versions[0].number, Some(3));
    assert_eq!(t.numbers(FUNCTION, "hello").await, [3]);
    // Earlier versions are neither listed nor selectable, and their names stay taken.
    for name in ["1", "2", "v1", &uid] {
        assert_eq!(refused(t.version(FUNCTION, "hello", name).await).code, Code::VersionNotFound, "{name}");
    }
    assert_eq!(t.refuse([function_on("hello", "hello").forced().labelled("v1")]).await.code, Code::LabelTaken);
}

async fn a_rollback_after_a_mistaken_removal_works(t: &Fixture) {
    let good = t.deploy("hello", "one").await;
    t.remove(FUNCTION, "hello").await.unwrap();
    t.clock.advance_ms(10_000);
    t.catalog.sweep(1000).await.unwrap();
    let back =
        t.catalog.rollback(&t.app, "x", RollbackInput { to: None, why: String::new(), dry_run: false }).await.unwrap();
    assert_eq!(Some(&back.to.app_version), good.app_version.as_ref());
    let (_, contents, gone) = t.catalog.app_version_contents(&t.app, "live".to_owned()).await.unwrap();
    assert!(contents.contains_key(&key(FUNCTION, "hello")) && gone.is_empty());
}

async fn retired_versions_are_kept_while_a_release_serves_them(t: &Fixture) {
    let first = t.deploy("hello", "one").await;
    let removes = vec![key(FUNCTION, "hello"), key(UnitKind::Package, "hello"), key(UnitKind::Environment, "python")];
    t.send(Change { removes, ..Change::default() }).await.unwrap();
    t.put([config("a", 1)]).await;
    t.clock.advance_ms(10_000);
    let report = t.catalog.sweep(1000).await.unwrap();
    assert_eq!((report.versions, report.contents, report.blobs), (0, 0, 0));

    let id = first.release.unwrap().id;
    t.catalog.release_expire(&t.app, "x", id.clone(), String::new()).await.unwrap();
    let report = t.catalog.sweep(1000).await.unwrap();
    assert_eq!((report.versions, report.contents, report.blobs, report.packs.len()), (3, 3, 2, 1));
    let refusal = refused(t.catalog.release_create(&t.app, "x", Some(id), String::new()).await);
    assert_eq!((refusal.code, refusal.lines().len()), (Code::VersionDeleted, 3));
    let (_, contents, gone) = t.catalog.app_version_contents(&t.app, first.app_version.unwrap()).await.unwrap();
    assert_eq!((contents.len(), gone.len()), (0, 3));
}

async fn a_retired_version_is_kept_while_another_is_pinned_to_it(t: &Fixture) {
    t.deploy("hello", "one").await;
    let tree = t.tree("two").await;
    t.put([package("other", tree), function_on("hello", "other")]).await;
    // Version 1 of the function is still listed and needs the old package.
    t.remove(UnitKind::Package, "hello").await.unwrap();
    let active = t.active().await;
    for id in &active[1..] {
        t.catalog.release_expire(&t.app, "x", id.clone(), String::new()).await.unwrap();
    }
    t.clock.advance_ms(10_000);
    assert_eq!(t.catalog.sweep(1000).await.unwrap().versions, 0);
    t.delete(FUNCTION, "hello", "2").await.unwrap();
    assert_eq!(t.objects("live").await["function hello"], 1);
    let spec = t.version(FUNCTION, "hello", "1").await.unwrap().spec;
    assert_eq!((&spec["package"]["name"], &spec["package"]["number"]), (&"hello".into(), &1.into()));
}

async fn an_old_release_with_a_removed_unit_can_be_put_live(t: &Fixture) {
    let first = t.deploy("hello", "one").await.release.unwrap().id;
    t.remove(FUNCTION, "hello").await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(first), String::new()).await.unwrap();
    assert_eq!(t.objects("live").await["function hello"], 1);
}

on_both_engines!(
    a_unit_that_others_need_is_not_removed,
    removing_a_function_removes_its_aliases,
    an_alias_that_a_release_follows_outlives_its_function,
    a_recreated_unit_continues_its_numbering,
    a_rollback_after_a_mistaken_removal_works,
    retired_versions_are_kept_while_a_release_serves_them,
    a_retired_version_is_kept_while_another_is_pinned_to_it,
    an_old_release_with_a_removed_unit_can_be_put_live,
);

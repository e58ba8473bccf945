use milepost_catalog::CatalogError;
use milepost_model::pointer::Alias;
use milepost_model::{AliasName, Code, UnitKind, UnitName};

use crate::common::*;
use crate::facts::RefusalFacts;

fn names() -> (UnitName, AliasName) {
    ("hello".parse().unwrap(), "stable".parse().unwrap())
}

async fn set(t: &Fixture, selector: &str, existing: bool) -> Result<Alias, CatalogError> {
    let (function, alias) = names();
    t.clock.advance_ms(1000);
    let new = milepost_catalog::SetAlias {
        function,
        alias,
        selector: selector.parse().unwrap(),
        existing,
        why: "why not".into(),
    };
    t.catalog.alias_set(&t.app, "al", new).await
}

async fn back(t: &Fixture) -> Result<Alias, CatalogError> {
    let (function, alias) = names();
    t.catalog.alias_rollback(&t.app, "al", function, alias, String::new()).await
}

async fn delete(t: &Fixture) -> Result<(), CatalogError> {
    let (function, alias) = names();
    t.catalog.alias_delete(&t.app, "al", function, alias).await
}

async fn versions(t: &Fixture, count: usize) {
    for number in 0..count {
        t.deploy("hello", &format!("code {number}")).await;
    }
}

async fn an_alias_is_created_once_and_then_moved(t: &Fixture) {
    versions(t, 2).await;
    assert_eq!(refused(set(t, "1", true).await).code, Code::AliasNotFound);
    let made = set(t, "1", false).await.unwrap();
    assert_eq!((made.number, made.moved_by.as_str(), made.moved_at), (1, "al", t.catalog.now()));
    assert_eq!(refused(set(t, "2", false).await).code, Code::AliasExists);
    assert_eq!(refused(set(t, "9", true).await).code, Code::VersionNotFound);
    assert_eq!(set(t, "latest", true).await.unwrap().number, 2);
    assert_eq!(t.version(UnitKind::Function, "hello", "@stable").await.unwrap().aliases, [names().1]);
    assert_eq!(t.catalog.alias_list(&t.app, names().0).await.unwrap().len(), 1);
    // An alias stays while latest moves on.
    versions(t, 3).await;
    assert_eq!(t.catalog.alias_get(&t.app, names().0, names().1).await.unwrap().number, 2);
}

async fn moving_an_alias_to_its_target_records_nothing(t: &Fixture) {
    versions(t, 1).await;
    set(t, "1", false).await.unwrap();
    let before = t.rows().await;
    set(t, "latest", true).await.unwrap();
    assert_eq!(t.rows().await, before);
}

async fn an_alias_rolls_back_step_by_step(t: &Fixture) {
    versions(t, 3).await;
    set(t, "1", false).await.unwrap();
    set(t, "2", true).await.unwrap();
    set(t, "3", true).await.unwrap();
    assert_eq!(back(t).await.unwrap().number, 2);
    assert_eq!(back(t).await.unwrap().number, 1);
    assert_eq!(refused(back(t).await).code, Code::NothingToRollBackTo);
    let moves = t.catalog.alias_history(&t.app, names().0, names().1, ALL).await.unwrap().items;
    let ends: Vec<_> = moves.iter().map(|step| (step.from.as_deref(), step.to.as_deref(), step.why.as_str())).collect();
    let expected = [
        (Some("2"), Some("1"), "rollback"),
        (Some("3"), Some("2"), "rollback"),
        (Some("2"), Some("3"), "why not"),
        (Some("1"), Some("2"), "why not"),
        (None, Some("1"), "why not"),
    ];
    assert_eq!(ends, expected);
}

async fn an_alias_rollback_skips_deleted_versions(t: &Fixture) {
    versions(t, 3).await;
    for (number, existing) in [("1", false), ("2", true), ("3", true)] {
        set(t, number, existing).await.unwrap();
    }
    t.delete(UnitKind::Function, "hello", "2").await.unwrap();
    assert_eq!(back(t).await.unwrap().number, 1);
}

async fn deleting_an_alias_keeps_its_versions_and_resets_its_history(t: &Fixture) {
    versions(t, 2).await;
    set(t, "1", false).await.unwrap();
    set(t, "2", true).await.unwrap();
    delete(t).await.unwrap();
    assert_eq!(refused(delete(t).await).code, Code::AliasNotFound);
    assert_eq!(t.numbers(UnitKind::Function, "hello").await, [2, 1]);
    set(t, "2", false).await.unwrap();
    assert_eq!(refused(back(t).await).code, Code::NothingToRollBackTo);
    let kinds: Vec<String> = t.events().await.into_iter().rev().take(2).map(|event| event.kind).collect();
    assert_eq!(kinds, ["alias.moved", "alias.deleted"]);
}

async fn an_alias_that_a_trigger_follows_is_not_deleted(t: &Fixture) {
    versions(t, 1).await;
    set(t, "1", false).await.unwrap();
    let id = t.put([route("GET /a", "hello", "@stable")]).await.release.unwrap().id;
    let refusal = refused(delete(t).await);
    assert_eq!(refusal.code, Code::InUse);
    assert_eq!(refusal.lines(), ["route GET /a follows".to_owned(), format!("route GET /a in release {id} follows")]);
    // Also if only an older active release has such a trigger.
    t.put([route("GET /a", "hello", "latest")]).await;
    assert_eq!(refused(delete(t).await).lines(), [format!("route GET /a in release {id} follows")]);
    t.catalog.release_expire(&t.app, "x", id, String::new()).await.unwrap();
    delete(t).await.unwrap();
}

async fn only_functions_have_aliases(t: &Fixture) {
    versions(t, 1).await;
    let nowhere: UnitName = "other".parse().unwrap();
    assert_eq!(refused(t.catalog.alias_list(&t.app, nowhere).await).code, Code::UnitNotFound);
    assert_eq!(refused(t.catalog.alias_history(&t.app, names().0, names().1, ALL).await).code, Code::AliasNotFound);
}

on_both_engines!(
    an_alias_is_created_once_and_then_moved,
    moving_an_alias_to_its_target_records_nothing,
    an_alias_rolls_back_step_by_step,
    an_alias_rollback_skips_deleted_versions,
    deleting_an_alias_keeps_its_versions_and_resets_its_history,
    an_alias_that_a_trigger_follows_is_not_deleted,
    only_functions_have_aliases,
);

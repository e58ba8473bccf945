use milepost_model::change::Change;
use milepost_model::release::LiveMode;
use milepost_model::{AppName, Code, PlanName, UnitKind};

use crate::common::facts::RefusalFacts;
use crate::common::{Fixture, config, refused};

fn name(text: &str) -> AppName {
    text.parse().unwrap()
}

async fn a_new_app_is_empty_and_follows(t: &Fixture) {
    let app = t.catalog.app_create(&name("blog"), PlanName::Free, "ann").await.unwrap();
    assert_eq!((app.plan, app.created_by.as_str(), app.head, app.stored_bytes), (PlanName::Free, "ann", None, 0));
    assert_eq!(app.live.mode, LiveMode::Following);
    assert!(app.live.release.is_none());
    let read = t.catalog.app_get(&name("blog")).await.unwrap();
    assert_eq!((read.plan, read.created_at), (app.plan, app.created_at));
}

async fn an_app_name_is_unique(t: &Fixture) {
    let refusal = refused(t.catalog.app_create(&t.app, PlanName::Free, "bob").await);
    assert_eq!(refusal.code, Code::AppExists);
}

async fn an_unknown_app_is_refused_with_the_closest_name(t: &Fixture) {
    let refusal = refused(t.catalog.app_get(&name("shpo")).await);
    assert_eq!(refusal.code, Code::AppNotFound);
    assert_eq!(refusal.close_names(), ["shop"]);
    let input = crate::common::input(Change::default());
    assert_eq!(refused(t.catalog.change(&name("shpo"), input).await).code, Code::AppNotFound);
}

async fn a_deleted_app_frees_its_name_for_an_empty_one(t: &Fixture) {
    t.put([config("a", 1)]).await;
    assert_eq!(refused(t.catalog.app_delete_unused(&t.app, "ann").await).code, Code::InUse);
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    assert_eq!(refused(t.catalog.app_get(&t.app).await).code, Code::AppNotFound);
    assert!(t.catalog.app_list(None, 10).await.unwrap().items.is_empty());

    t.catalog.app_create(&t.app, PlanName::Standard, "bob").await.unwrap();
    assert!(t.catalog.unit_list(&t.app, None, None, None, 10).await.unwrap().items.is_empty());
    let outcome = t.put([config("a", 1)]).await;
    assert_eq!(outcome.versions[0].number, Some(1));
    let kinds: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds[0], "app.created");
    assert!(!kinds.contains(&"app.deleted".to_owned()));
}

async fn the_content_of_a_deleted_app_is_swept(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    t.clock.advance_ms(10_000);
    t.catalog.sweep(1000).await.unwrap();
    assert_eq!((t.count("contents").await, t.count("blobs").await, t.count("packs").await), (0, 0, 0));
}

async fn apps_are_listed_by_name_in_pages(t: &Fixture) {
    for text in ["a-b", "a1", "ab", "zoo"] {
        t.catalog.app_create(&name(text), PlanName::Free, "ann").await.unwrap();
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = t.catalog.app_list(after, 2).await.unwrap();
        assert!(page.items.len() <= 2);
        found.extend(page.items.into_iter().map(|app| app.name.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["a-b", "a1", "ab", "shop", "zoo"]);
}

async fn only_a_different_plan_records_an_event(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    t.set_plan(PlanName::Free).await;
    assert_eq!(t.catalog.app_get(&t.app).await.unwrap().plan, PlanName::Free);
    let events = t.events().await;
    let changes: Vec<_> = events.iter().filter(|event| event.kind == "app.plan-changed").collect();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].after.as_ref().unwrap()["plan"], "free");
}

async fn a_missing_unit_is_not_found(t: &Fixture) {
    let refusal = refused(t.version(UnitKind::Function, "hello", "latest").await);
    assert_eq!(refusal.code, Code::UnitNotFound);
    assert_eq!(refusal.message, "app `shop` has no function `hello`");
}

on_both_engines!(
    a_new_app_is_empty_and_follows,
    an_app_name_is_unique,
    an_unknown_app_is_refused_with_the_closest_name,
    a_deleted_app_frees_its_name_for_an_empty_one,
    the_content_of_a_deleted_app_is_swept,
    apps_are_listed_by_name_in_pages,
    only_a_different_plan_records_an_event,
    a_missing_unit_is_not_found,
);

use std::collections::HashSet;
use std::time::Duration;

use milepost_catalog::{Heard, Known, LiveTarget, Serving};
use milepost_model::spec::PinRole;
use milepost_model::{PlanName, Selector, UnitKind};

use crate::common::*;

async fn serving(t: &Fixture, known: Known) -> Serving {
    t.catalog.serving(&t.app, known).await.unwrap().unwrap()
}

/// Returns the members of a release, as `kind name`.
fn members(serving: &Serving, release: &str) -> HashSet<String> {
    let app_version = serving.releases.iter().find(|active| active.id == release).unwrap().app_version;
    let ids = &serving.members[&app_version];
    ids.iter().map(|id| &serving.versions[id]).map(|version| format!("{} {}", version.kind, version.name)).collect()
}

/// Returns what the next read may assume after this one.
fn known(serving: &Serving) -> Known {
    Known {
        position: Some(serving.position),
        app_versions: serving.members.keys().copied().collect(),
        versions: serving.versions.keys().copied().collect(),
        active: serving.releases.iter().map(|release| release.id.clone()).collect(),
        newest_release: serving.newest_release,
    }
}

async fn a_first_read_returns_everything_that_releases_need(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([route("GET /hi", "hello", "1"), config("greeting", "hi"), secret("KEY", "s3cret")]).await;
    let newest = t.deploy("hello", "two").await.release.unwrap().id;
    t.alias("hello", "stable", "1").await;
    t.tag("good", &newest).await.unwrap();
    let seen = serving(t, Known::default()).await;
    assert_eq!((seen.live.as_deref(), seen.latest.as_deref()), (Some(newest.as_str()), Some(newest.as_str())));
    assert_eq!(seen.releases.len(), 3);
    let named = seen.releases.iter().find(|release| release.id == newest).unwrap();
    assert_eq!(named.tags.iter().map(ToString::to_string).collect::<Vec<_>>(), ["good"]);
    let expected =
        ["config config", "environment python", "function hello", "package hello", "route GET /hi", "secret KEY"];
    assert_eq!(members(&seen, &newest), expected.map(str::to_owned).into());
    // The route is pinned to version 1, which is not a member of the newest release. That version
    // is pinned to its own package.
    let route = seen.versions.values().find(|version| version.kind == UnitKind::Route).unwrap();
    let (role, target) = route.pins[0];
    let one = &seen.versions[&target];
    assert_eq!((role, one.kind, one.number), (PinRole::Target, UnitKind::Function, 1));
    assert!(
        one.pins.iter().all(|(_, id)| seen.versions.contains_key(id)),
        "what the pinned version needs is there too"
    );
    assert_eq!(seen.aliases.len(), 1);
    assert_eq!(seen.versions[&seen.aliases[0].version].number, 1);
    let sealed = seen.versions.values().find(|version| version.kind == UnitKind::Secret).unwrap();
    assert!(sealed.sealed.is_some());
}

async fn a_second_read_returns_only_what_is_new(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = serving(t, Known::default()).await;
    let again = serving(t, known(&first)).await;
    assert!(again.members.is_empty() && again.versions.is_empty() && again.expired.is_empty(), "{again:?}");
    t.put([config("n", 1)]).await;
    let after = serving(t, known(&first)).await;
    assert_eq!((after.members.len(), after.versions.len(), after.releases.len()), (1, 1, 2));
    assert!(after.position.event > first.position.event);
}

async fn releases_that_expired_since_are_returned_with_their_time(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let mut ids = Vec::new();
    for value in 1..=3 {
        ids.push(t.put([config("n", value)]).await.release.unwrap().id);
    }
    let before = serving(t, Known::default()).await;
    assert!(before.expired.is_empty());
    for value in 4..=7 {
        ids.push(t.put([config("n", value)]).await.release.unwrap().id);
    }
    let after = serving(t, known(&before)).await;
    let expired: HashSet<String> = after.expired.iter().map(|(id, _)| id.clone()).collect();
    // The fourth was created and expired between the two reads.
    assert_eq!(expired, ids[..4].iter().cloned().collect());
    let fresh = serving(t, Known::default()).await;
    assert_eq!(fresh.expired.len(), 4);
    assert_eq!(
        t.release(&ids[3]).await.expired_at,
        fresh.expired.iter().find(|(id, _)| *id == ids[3]).map(|(_, at)| *at)
    );
}

async fn a_moved_pointer_is_seen(t: &Fixture) {
    let one = t.put([config("n", 1)]).await.release.unwrap().id;
    t.put([config("n", 2)]).await;
    let before = serving(t, Known::default()).await;
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(one.clone()), String::new()).await.unwrap();
    let after = serving(t, known(&before)).await;
    assert_eq!(after.live, Some(one));
    assert!(after.position.event > before.position.event);
}

async fn a_missing_app_has_no_view(t: &Fixture) {
    assert!(t.catalog.serving(&"nope".parse().unwrap(), Known::default()).await.unwrap().is_none());
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    assert!(t.catalog.serving(&t.app, Known::default()).await.unwrap().is_none());
    assert!(t.catalog.serving_marks().await.unwrap().is_empty());
}

async fn a_function_is_found_by_any_selector_with_the_app_around_it(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
    t.put([config("greeting", "hi")]).await;
    for (selector, number) in [("latest", 2), ("1", 1), ("2", 2)] {
        let selector: Selector = selector.parse().unwrap();
        let found = t.catalog.serving_function(&t.app, "hello".parse().unwrap(), selector).await.unwrap();
        assert_eq!(found.versions[&found.version].number, number);
        let kinds: HashSet<UnitKind> = found.members.iter().map(|id| found.versions[id].kind).collect();
        assert!(kinds.contains(&UnitKind::Config), "{kinds:?}");
    }
}

async fn other_servers_are_notified_of_a_change(t: &Fixture) {
    let mut heard = t.catalog.listen();
    if t.catalog.engine() == milepost_catalog::Engine::Sqlite {
        assert_eq!(heard.recv().await, None, "no other process writes to the file");
        return;
    }
    let next = async |heard: &mut tokio::sync::mpsc::Receiver<Heard>| {
        tokio::time::timeout(Duration::from_secs(20), heard.recv()).await.unwrap()
    };
    assert_eq!(next(&mut heard).await, Some(Heard::Gap), "earlier notifications were lost");
    t.put([config("n", 1)]).await;
    assert_eq!(next(&mut heard).await, Some(Heard::App(t.app.clone())));
}

on_both_engines!(
    a_first_read_returns_everything_that_releases_need,
    a_second_read_returns_only_what_is_new,
    releases_that_expired_since_are_returned_with_their_time,
    a_moved_pointer_is_seen,
    a_missing_app_has_no_view,
    a_function_is_found_by_any_selector_with_the_app_around_it,
    other_servers_are_notified_of_a_change,
);

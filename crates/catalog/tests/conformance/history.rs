//! App versions, the event log and time travel.

use std::collections::BTreeMap;

use milepost_catalog::{LiveTarget, Page};
use milepost_model::change::Change;
use milepost_model::diff::{self, UnitDiffKind};
use milepost_model::unit_put::Put;
use milepost_model::{Clock, Code, UnitKind};

use crate::common::*;

/// Sends a change and keeps a full copy of what the app has, unlike the catalog.
async fn keep(t: &Fixture, manifest: &mut BTreeMap<String, i64>, change: Change) -> (String, BTreeMap<String, i64>) {
    let outcome = t.send(change).await.unwrap();
    for unit in outcome.versions {
        let key = format!("{} {}", unit.kind, unit.name);
        match unit.number {
            Some(number) => manifest.insert(key, number),
            None => manifest.remove(&key),
        };
    }
    (outcome.app_version.unwrap(), manifest.clone())
}

async fn every_app_version_lists_exactly_what_the_app_had(t: &Fixture) {
    let mut manifest = BTreeMap::new();
    let mut kept = Vec::new();
    for step in 0..24_i64 {
        let mut puts: Vec<Put> = vec![config("n", step)];
        let mut removes = Vec::new();
        // Each secret is added, changed and removed at its own interval.
        for (name, rhythm) in [("A", 2), ("B", 3), ("C", 5)] {
            let unit = format!("secret {name}");
            match step % rhythm {
                0 => puts.push(secret(name, &step.to_string())),
                1 if step % 4 == 1 && manifest.contains_key(&unit) => removes.push(key(UnitKind::Secret, name)),
                _ => {}
            }
        }
        kept.push(keep(t, &mut manifest, Change { removes, ..change(puts) }).await);
    }
    for (uid, expected) in &kept {
        assert_eq!(&t.objects(uid).await, expected, "{uid}");
    }
    assert!(kept.iter().any(|(_, manifest)| !manifest.contains_key("secret A")));
}

async fn unchanged_units_cost_no_rows(t: &Fixture) {
    t.put([secret("A", "1"), secret("B", "1"), config("n", 0)]).await;
    let before = t.rows().await;
    t.put([config("n", 1)]).await;
    let after = t.rows().await;
    assert_eq!((after["memberships"] - before["memberships"], after["versions"] - before["versions"]), (1, 1));
}

async fn app_versions_are_found_by_uid_number_release_tag_and_pointer(t: &Fixture) {
    let first = t.put([config("n", 1)]).await;
    let uid = first.app_version.unwrap();
    let release = first.release.unwrap().id;
    t.tag("beta", &release).await.unwrap();
    t.put([config("n", 2)]).await;
    for name in [uid.as_str(), "1", &release, "beta"] {
        assert_eq!(t.catalog.app_version_get(&t.app, name.to_owned()).await.unwrap().id, uid, "{name}");
    }
    for name in ["head", "live", "latest", "2"] {
        assert_eq!(t.catalog.app_version_get(&t.app, name.to_owned()).await.unwrap().number, 2, "{name}");
    }
    let refusal = refused(t.catalog.app_version_get(&t.app, "bta".into()).await);
    assert_eq!(refusal.code, Code::AppVersionNotFound);
}

async fn app_versions_are_compared_field_by_field(t: &Fixture) {
    let one = t.put([config("n", 1), secret("A", "1")]).await.app_version.unwrap();
    let removes = vec![key(UnitKind::Secret, "A")];
    let two =
        t.send(Change { removes, ..change([config("n", 2), secret("B", "1")]) }).await.unwrap().app_version.unwrap();
    let contents = async |name: String| t.catalog.app_version_contents(&t.app, name).await.unwrap().1;
    let diff = diff::diff(&contents(one).await, &contents(two).await);
    let kinds: Vec<_> = diff.iter().map(|unit| (unit.name.as_str(), unit.change)).collect();
    assert_eq!(kinds, [("A", UnitDiffKind::Removed), ("B", UnitDiffKind::Added), ("config", UnitDiffKind::Changed)]);
}

async fn lists_come_in_pages_without_gaps(t: &Fixture) {
    for value in 0..7 {
        t.put([config("n", value)]).await;
    }
    let mut numbers = Vec::new();
    let mut below = None;
    loop {
        let page = t.catalog.app_version_list(&t.app, Page { below, limit: 3 }).await.unwrap();
        numbers.extend(page.items.iter().map(|version| version.number));
        below = page.next;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(numbers, [7, 6, 5, 4, 3, 2, 1]);
    let page = t
        .catalog
        .version_list(&t.app, key(UnitKind::Config, "config"), Page { below: Some(4), limit: 3 })
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.items[0].number, page.next), (3, 3, None));
    let events = t.catalog.event_list(&t.app, Page { below: Some(4), limit: 2 }).await.unwrap();
    assert_eq!((events.items[0].id, events.items[1].id, events.next), (3, 2, Some(2)));
    let moves = t.catalog.live_history(&t.app, Page { below: None, limit: 4 }).await.unwrap();
    let rest = t.catalog.live_history(&t.app, Page { below: moves.next, limit: 4 }).await.unwrap();
    assert_eq!((moves.items.len(), rest.items.len(), rest.next), (4, 3, None));
}

async fn units_come_in_pages_by_kind_and_name(t: &Fixture) {
    t.put([secret("b", "1"), secret("A", "1"), secret("B", "1"), secret("_x", "1"), config("n", 1)]).await;
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = t.catalog.unit_list(&t.app, None, None, after, 2).await.unwrap();
        found.extend(page.items.iter().map(|unit| unit.name.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    // In byte order, on both engines.
    assert_eq!(found, ["config", "A", "B", "_x", "b"]);
    assert_eq!(t.catalog.unit_list(&t.app, Some(UnitKind::Secret), None, None, 10).await.unwrap().items.len(), 4);
    assert_eq!(t.catalog.unit_get(&t.app, key(UnitKind::Config, "config")).await.unwrap().versions, 1);
}

async fn the_event_log_records_everything_once_without_gaps(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    let release = t.deploy("hello", "two").await.release.unwrap().id;
    t.tag("beta", &release).await.unwrap();
    let events = t.events().await;
    let ids: Vec<i64> = events.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=events.len() as i64).collect::<Vec<_>>());
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let released = ["app-version.created", "release.created", "latest.moved", "live.moved"];
    let made = ["version.created"; 3];
    let expected =
        [&["app.created"][..], &made, &released, &["alias.moved"], &made[1..], &released, &["tag.moved"]].concat();
    assert_eq!(kinds, expected);
    assert_eq!((events[1].subject.as_str(), events[1].actor.as_str()), ("environment python", "ann"));
    let alias = events.iter().find(|event| event.kind == "alias.moved").unwrap();
    assert_eq!(
        (alias.subject.as_str(), &alias.after.as_ref().unwrap()["number"]),
        ("alias stable of function hello", &1.into())
    );
    let live = events.iter().rfind(|event| event.kind == "live.moved").unwrap();
    assert_eq!(live.after.as_ref().unwrap()["release"], release.as_str());
}

async fn at_returns_what_was_live_at_a_moment(t: &Fixture) {
    let moments = async |value: &str| {
        t.deploy("hello", value).await;
        t.clock.now()
    };
    assert_eq!(refused(t.catalog.at(&t.app, t.clock.now()).await).code, Code::NothingThen);
    let one = moments("one").await;
    t.alias("hello", "stable", "1").await;
    let two = moments("two").await;
    t.alias("hello", "stable", "2").await;
    let first = t.catalog.at(&t.app, one).await.unwrap().release.id;
    t.clock.advance_ms(1000);
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(first), String::new()).await.unwrap();
    let three = t.clock.now();
    let before = milepost_model::clock::from_millis(one.as_millisecond() - 1);
    assert_eq!(refused(t.catalog.at(&t.app, before).await).code, Code::NothingThen);
    let between = milepost_model::clock::from_millis(two.as_millisecond() - 1);
    for (moment, number, alias, since) in
        [(one, 1, None, one), (between, 1, Some(1), one), (two, 2, Some(1), two), (three, 1, Some(2), three)]
    {
        let then = t.catalog.at(&t.app, moment).await.unwrap();
        let function = then.objects.iter().find(|object| object.kind == UnitKind::Function).unwrap();
        assert_eq!((function.number, then.live_since), (number, since), "{moment}");
        assert_eq!(then.aliases.first().map(|alias| alias.number), alias, "{moment}");
        assert_eq!(then.objects.len(), 3);
        assert_eq!(then.release.app_version, then.app_version.id);
    }
}

on_both_engines!(
    every_app_version_lists_exactly_what_the_app_had,
    unchanged_units_cost_no_rows,
    app_versions_are_found_by_uid_number_release_tag_and_pointer,
    app_versions_are_compared_field_by_field,
    lists_come_in_pages_without_gaps,
    units_come_in_pages_by_kind_and_name,
    the_event_log_records_everything_once_without_gaps,
    at_returns_what_was_live_at_a_moment,
);

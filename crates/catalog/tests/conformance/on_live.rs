//! Changes on live: the new app version is live's content plus the change.

use milepost_catalog::{CatalogError, ChangeInput, LiveTarget, RollbackInput, Settled};
use milepost_model::base::{Base, LeftOut};
use milepost_model::change::{Change, Declaration, UnitAction};
use milepost_model::release::LiveMode;
use milepost_model::unit_put::Put;
use milepost_model::{ChangeOutcome, Code, PlanName, UnitKind, Warning};
use serde_json::json;

use crate::common::*;
use crate::facts::RefusalFacts;

fn on_live(puts: impl IntoIterator<Item = Put>) -> Change {
    Change { on: Base::Live, ..change(puts) }
}

async fn back(t: &Fixture) {
    let input = RollbackInput { to: None, why: String::new(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", input).await.unwrap();
}

async fn document(t: &Fixture) -> serde_json::Value {
    t.version(UnitKind::Config, "config", "latest").await.unwrap().spec["document"].clone()
}

/// Version 1 of `hello` is live. Version 2 was rolled back, together with a configuration and the
/// function `new`.
async fn rolled_back(t: &Fixture) -> String {
    t.put([config("a", 1)]).await;
    let good = t.deploy("hello", "good").await.release.unwrap().id;
    let bad = t.tree("bad").await;
    t.put([
        package("hello", bad),
        function_on("hello", "hello"),
        config("a", 2),
        package("new", bad),
        function_on("new", "new"),
    ])
    .await;
    back(t).await;
    assert_eq!(t.live_id().await, good);
    good
}

fn left_out(outcome: &ChangeOutcome) -> Vec<(String, Option<i64>, Option<i64>)> {
    let told = |left: &LeftOut| (format!("{} {}", left.kind, left.name), left.head, left.live);
    outcome.left_out.iter().map(told).collect()
}

async fn a_change_on_live_adds_to_the_content_of_live(t: &Fixture) {
    let good = rolled_back(t).await;
    let outcome = t.send(on_live([config("b", 3)])).await.unwrap();
    let release = outcome.release.clone().unwrap();
    assert!(release.live && release.latest, "{release:?}");
    assert_eq!((t.live_id().await, t.live().await.mode), (release.id.clone(), LiveMode::Pinned));
    assert_eq!(document(t).await, json!({ "a": 1, "b": 3 }), "the change was added to what live has");
    let objects = t.objects("live").await;
    assert_eq!((objects["function hello"], objects["package hello"], objects["config config"]), (1, 1, 3));
    assert!(!objects.contains_key("function new") && !objects.contains_key("package new"));
    assert_eq!(objects, t.objects("head").await);
    assert_eq!(
        left_out(&outcome),
        [
            ("config config".into(), Some(2), Some(1)),
            ("package hello".into(), Some(2), Some(1)),
            ("package new".into(), Some(1), None),
            ("function hello".into(), Some(2), Some(1)),
            ("function new".into(), Some(1), None),
        ]
    );
    assert!(outcome.notices.is_empty(), "{:?}", outcome.notices);
    let events = t.events().await;
    let told = |kind: &str| -> Vec<String> {
        events.iter().filter(|event| event.kind == kind).map(|event| event.subject.clone()).collect()
    };
    assert_eq!(told("unit.put-back"), ["package hello", "function hello"]);
    assert_eq!(told("unit.removed"), ["package new", "function new"]);
    // The next change on live keeps what is live now, and leaves nothing out.
    let next = t.send(on_live([config("c", 4)])).await.unwrap();
    assert!(next.left_out.is_empty() && next.release.unwrap().live);
    assert_eq!(document(t).await, json!({ "a": 1, "b": 3, "c": 4 }));
    // Rollbacks lead to where live was.
    back(t).await;
    assert_eq!(t.live_id().await, release.id);
    back(t).await;
    assert_eq!(t.live_id().await, good);
}

async fn content_that_live_already_has_makes_nothing(t: &Fixture) {
    let good = rolled_back(t).await;
    let (rows, head) = (t.rows().await, t.objects("head").await);
    let outcome = t.send(on_live([config("a", 1)])).await.unwrap();
    assert!(!outcome.changed && outcome.release.is_none() && outcome.left_out.is_empty());
    assert_eq!(outcome.app_version, Some(t.release(&good).await.app_version));
    assert_eq!((t.rows().await, t.objects("head").await), (rows, head));
    // The next change continues from the former head.
    t.put([config("b", 1)]).await;
    assert_eq!(document(t).await, json!({ "a": 2, "b": 1 }));
}

async fn a_dry_run_on_live_changes_nothing(t: &Fixture) {
    rolled_back(t).await;
    let rows = t.rows().await;
    let plan = t.send(Change { dry_run: true, ..on_live([config("b", 3)]) }).await.unwrap();
    assert_eq!((plan.changed, plan.left_out.len(), plan.notices.len()), (true, 5, 0));
    assert_eq!(t.rows().await, rows);
    let head = t.catalog.app_version_get(&t.app, "head".into()).await.unwrap().id;
    let change = Change { expect: Some(head), ..on_live([config("b", 3)]) };
    assert_eq!(t.send(change.clone()).await.unwrap().left_out, plan.left_out);
    assert_eq!(refused(t.send(change).await).code, Code::HeadMoved, "what is expected is head, not live");
}

async fn content_that_head_already_has_gets_no_new_version(t: &Fixture) {
    rolled_back(t).await;
    let tree = t.tree("bad").await;
    let outcome =
        t.send(on_live([package("hello", tree), function_on("hello", "hello"), function_on("new", "hello")])).await;
    let outcome = outcome.unwrap();
    let numbers: Vec<_> = outcome.versions.iter().map(|unit| (unit.action, unit.number)).collect();
    use UnitAction::{Created, Updated};
    assert_eq!(numbers, [(Updated, Some(2)), (Updated, Some(2)), (Created, Some(2))]);
    let left: Vec<_> = left_out(&outcome).into_iter().map(|(unit, ..)| unit).collect();
    assert_eq!(left, ["config config", "package new", "function new"]);
    assert_eq!(t.numbers(UnitKind::Function, "hello").await, [2, 1]);
}

async fn on_live_makes_no_difference_if_live_is_head(t: &Fixture) {
    let first = t.send(on_live([config("a", 1)])).await.unwrap();
    assert!(first.release.unwrap().live, "the first change of an app needs no live");
    let outcome = t.send(on_live([config("b", 2)])).await.unwrap();
    assert!(outcome.left_out.is_empty() && outcome.release.unwrap().live);
    assert_eq!((document(t).await, t.live().await.mode), (json!({ "a": 1, "b": 2 }), LiveMode::Following));
    // Head has a change that was never released.
    t.send(Change { release: false, ..change([config("c", 3)]) }).await.unwrap();
    let outcome = t.send(on_live([config("d", 4)])).await.unwrap();
    assert_eq!(left_out(&outcome), [("config config".into(), Some(3), Some(2))]);
    assert_eq!((document(t).await, t.live().await.mode), (json!({ "a": 1, "b": 2, "d": 4 }), LiveMode::Following));
}

async fn a_change_on_live_needs_a_release_and_a_live(t: &Fixture) {
    t.send(Change { release: false, ..change([config("a", 1)]) }).await.unwrap();
    let rows = t.rows().await;
    assert_eq!(refused(t.send(on_live([config("b", 2)])).await).code, Code::NoRelease);
    t.put([config("a", 2)]).await;
    let refusal = refused(t.send(Change { release: false, ..on_live([config("b", 2)]) }).await);
    assert_eq!(refusal.code, Code::InvalidRequest);
    assert!(t.rows().await["versions"] == rows["versions"] + 1);
}

async fn restored_units_continue_their_numbering(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([route("GET /hello", "hello", "latest"), timer("nightly", "hello", "latest")]).await;
    t.alias("hello", "stable", "1").await;
    let good = t.put([route("GET /stable", "hello", "@stable")]).await.release.unwrap().id;
    let units = [
        (UnitKind::Route, "GET /hello"),
        (UnitKind::Route, "GET /stable"),
        (UnitKind::Timer, "nightly"),
        (UnitKind::Function, "hello"),
        (UnitKind::Package, "hello"),
    ];
    let removes = units.iter().map(|(kind, name)| key(*kind, name)).collect();
    t.send(Change { removes, ..Change::default() }).await.unwrap();
    back(t).await;
    assert_eq!(t.live_id().await, good);
    assert!(t.version(UnitKind::Function, "hello", "1").await.is_err(), "it is retired");
    let outcome = t.send(on_live([config("a", 1)])).await.unwrap();
    assert_eq!(left_out(&outcome).len(), 5);
    assert!(left_out(&outcome).iter().all(|(_, head, live)| head.is_none() && *live == Some(1)));
    assert_eq!(t.version(UnitKind::Function, "hello", "@stable").await.unwrap().number, 1);
    assert_eq!(t.count("timers").await, 1);
    // It can be changed field by field as before.
    let bigger = milepost_model::unit_put::FunctionPut { merge: true, memory: Some(1 << 28), ..Default::default() };
    assert_eq!(t.send(on_live([function_with("hello", bigger)])).await.unwrap().versions[0].number, Some(2));
    let missing = "SELECT count(*) FROM memberships m JOIN memberships n ON n.unit_id = m.unit_id AND n.from_seq > m.from_seq \
                   WHERE m.until_seq IS NULL OR m.until_seq > n.from_seq";
    assert_eq!(t.number(missing).await, 0, "no two versions of a unit at a time");
}

async fn units_with_aliases_jobs_or_webhooks_are_not_left_out(t: &Fixture) {
    rolled_back(t).await;
    t.alias("new", "stable", "1").await;
    let webhook = t.webhook("new", "latest").await.unwrap();
    let rows = t.rows().await;
    let refusal = refused(t.send(on_live([config("b", 3)])).await);
    assert_eq!(refusal.code, Code::StillReferenced);
    let expected =
        ["alias stable points at function new".to_owned(), format!("webhook {} needs function new", webhook.id)];
    assert_eq!(refusal.lines(), expected);
    assert_eq!(t.rows().await, rows);
    // If the same change puts them, they stay.
    let tree = t.tree("bad").await;
    let outcome = t.send(on_live([config("b", 3), package("new", tree), function_on("new", "new")])).await.unwrap();
    assert!(outcome.left_out.iter().all(|unit| unit.name.as_str() != "new"), "{:?}", outcome.left_out);
    assert_eq!(t.version(UnitKind::Function, "new", "@stable").await.unwrap().number, 1);
}

async fn folders_keep_their_units(t: &Fixture) {
    t.send(declared("a", [config("n", 1), static_item("/s", t.tree("s").await)])).await.unwrap();
    t.send(declared("a", [config("n", 1)])).await.unwrap();
    t.send(declared("b", [static_item("/b", t.tree("b").await)])).await.unwrap();
    t.catalog.rollback(&t.app, "liz", RollbackInput { to: None, why: String::new(), dry_run: false }).await.unwrap();
    back(t).await;
    let all = t.send(on_live([secret("S", "1")])).await.unwrap();
    assert_eq!(left_out(&all), [("static /b".into(), Some(1), None), ("static /s".into(), None, Some(1))]);
    assert_eq!(t.owners().await, [("config".into(), "a".into()), ("static /s".into(), "a".into())].into());
    // The folder decides as before: units that it does not declare are removed.
    let outcome = t.send(Change { on: Base::Live, ..declared("a", [config("n", 1)]) }).await.unwrap();
    assert_eq!(outcome.versions.last().unwrap().action, UnitAction::Removed);
    assert_eq!(t.present().await, ["config", "secret S"]);
    let free = Declaration { allow_conflicts: false, ..declaration("c") };
    let change = Change { deployment: Some(free), ..on_live([static_item("/b", t.tree("b").await)]) };
    t.send(change).await.unwrap();
    assert_eq!(t.owners().await["static /b"], "c", "a removed unit has no owner");
}

async fn the_plan_limit_counts_restored_functions(t: &Fixture) {
    let tree = t.tree("one").await;
    let bound = i64::from(PlanName::Free.limits().functions.unwrap());
    let mut puts = vec![package("p", tree)];
    puts.extend((0..=bound).map(|number| function_on(&format!("f{number}"), "p")));
    t.put(puts).await;
    let removes = (1..=bound).map(|number| key(UnitKind::Function, &format!("f{number}"))).collect();
    t.send(Change { removes, ..Change::default() }).await.unwrap();
    back(t).await;
    t.set_plan(PlanName::Free).await;
    assert_eq!(refused(t.send(on_live([config("a", 1)])).await).code, Code::PlanLimit);
}

async fn a_resent_change_on_live_is_applied_once(t: &Fixture) {
    rolled_back(t).await;
    let send = async || -> Result<ChangeOutcome, CatalogError> {
        let key = Some("once".to_owned());
        t.catalog.change(&t.app, ChangeInput { idempotency_key: key, ..input(on_live([config("b", 3)])) }).await
    };
    let first = send().await.unwrap();
    assert_eq!(send().await.unwrap().app_version, first.app_version);
    t.catalog.live_set(&t.app, "liz", LiveTarget::Follow, String::new()).await.unwrap();
    assert_eq!(t.live_id().await, first.release.unwrap().id);
}

async fn a_second_change_on_live_waits_for_the_check_of_the_first(t: &Fixture) {
    let good = rolled_back(t).await;
    let fix = t.tree("fix").await;
    let first = on_live([package("hello", fix), function_on("hello", "hello")]);
    let first = t.send_checked(first, "n").await.unwrap().release.unwrap().id;
    for dry_run in [true, false] {
        let second = Change { dry_run, ..on_live([config("b", 3)]) };
        let refusal = refused(t.send_checked(second, "other").await);
        assert_eq!(refusal.code, Code::InUse);
        assert_eq!(refusal.lines(), [format!("release {first} takes live")]);
    }
    assert_eq!(t.live_id().await, good);
    t.check(&first, "n", true).await;
    assert_eq!(t.live_id().await, first);
    let second = t.send_checked(on_live([config("b", 3)]), "other").await.unwrap().release.unwrap();
    assert_eq!((t.live_id().await, t.objects("live").await["function hello"]), (second.id, 3));
}

async fn a_change_that_loses_its_pin_warns(t: &Fixture) {
    rolled_back(t).await;
    let fix = t.tree("fix").await;
    let change = on_live([package("hello", fix), function_on("hello", "hello")]);
    let release = t.send_checked(change, "n").await.unwrap().release.unwrap().id;
    let elsewhere = t.active().await.remove(1);
    t.catalog.live_set(&t.app, "liz", LiveTarget::Release(elsewhere.clone()), String::new()).await.unwrap();
    let Settled::Done(done) = t.check(&release, "n", true).await else { panic!("not settled") };
    assert_eq!(t.live_id().await, elsewhere);
    assert_eq!(done.notices, [Warning::LiveMovedMeanwhile { release: release.clone() }]);
    // A client that resends its change gets the same warning.
    assert_eq!(t.catalog.check_get(&t.app, &release).await.unwrap().notices, done.notices);
}

async fn a_change_that_expects_another_live_is_rejected(t: &Fixture) {
    let good = rolled_back(t).await;
    let expecting = |live: &str| Change { expect_live: Some(live.to_owned()), ..on_live([config("b", 3)]) };
    let newest = t.active().await.remove(0);
    let refusal = refused(t.send(expecting(&newest)).await);
    assert_eq!(refusal.code, Code::HeadMoved);
    assert!(refusal.message.contains(&good), "{}", refusal.message);
    assert!(t.send(expecting(&good)).await.unwrap().changed);
}

on_both_engines!(
    a_change_on_live_adds_to_the_content_of_live,
    content_that_live_already_has_makes_nothing,
    a_dry_run_on_live_changes_nothing,
    content_that_head_already_has_gets_no_new_version,
    on_live_makes_no_difference_if_live_is_head,
    a_change_on_live_needs_a_release_and_a_live,
    restored_units_continue_their_numbering,
    units_with_aliases_jobs_or_webhooks_are_not_left_out,
    folders_keep_their_units,
    the_plan_limit_counts_restored_functions,
    a_resent_change_on_live_is_applied_once,
    a_second_change_on_live_waits_for_the_check_of_the_first,
    a_change_that_loses_its_pin_warns,
    a_change_that_expects_another_live_is_rejected,
);

//! Releases become latest and live only after their new functions have loaded.

use milepost_catalog::{Checking, LiveTarget, RollbackInput, Settled, VersionsToDelete};
use milepost_model::change::Change;
use milepost_model::check::CheckState;
use milepost_model::release::LiveMode;
use milepost_model::{ChangeOutcome, Code, PlanName, UnitKind};

use crate::common::checked::{LONG_MS, by};
use crate::common::*;

async fn names(t: &Fixture) -> (Option<String>, Option<String>) {
    let live = t.live().await.release.map(|release| release.id);
    let latest = t.catalog.release_get(&t.app, "latest".to_owned()).await.ok().map(|release| release.id);
    (live, latest)
}

fn both(release: &str) -> (Option<String>, Option<String>) {
    (Some(release.to_owned()), Some(release.to_owned()))
}

async fn a_release_goes_live_when_its_functions_have_loaded(t: &Fixture) {
    let (first, state) = t.deploy_checked("hello", "one", "n1").await;
    assert_eq!((state, names(t).await), (CheckState::Pending, (None, None)));
    let Settled::Done(done) = t.check(&first, "n1", true).await else { panic!("not settled") };
    assert_eq!((done.release.check.state, done.release.live, done.release.latest), (CheckState::Passed, true, true));
    assert_eq!(done.release.check.functions[0].name.as_str(), "hello");
    let (second, _) = t.deploy_checked("hello", "two", "n1").await;
    assert_eq!(names(t).await, both(&first));
    t.check(&second, "n1", true).await;
    assert_eq!(names(t).await, both(&second));
    let events: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    let last = ["release.created", "release.checked", "latest.moved", "live.moved"];
    assert_eq!(events[events.len() - 4..], last);
    assert!(t.events().await.iter().rev().take(3).all(|event| event.actor == "ann"));
}

async fn a_release_that_fails_to_load_is_held_back_and_the_next_good_one_goes_live(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let (bad, _) = t.deploy_checked("hello", "two", "n").await;
    let Settled::Done(done) = t.check(&bad, "n", false).await else { panic!("not settled") };
    assert_eq!((done.release.check.state, done.release.live, done.release.latest), (CheckState::Failed, false, false));
    assert_eq!(done.release.check.functions[0].reason, "it does not compile");
    assert_eq!((names(t).await, t.live().await.mode), (both(&first), LiveMode::Following));
    let (good, _) = t.deploy_checked("hello", "three", "n").await;
    t.check(&good, "n", true).await;
    assert_eq!(names(t).await, both(&good));
    assert!(t.active().await.contains(&bad));
}

async fn a_release_without_new_functions_is_live_at_once(t: &Fixture) {
    let outcome = t.put_checked([config("a", 1)], "n").await;
    assert_eq!((outcome.check.state, outcome.release.unwrap().live), (CheckState::None, true));
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let outcome = t.put_checked([config("a", 2)], "n").await;
    assert_eq!((outcome.check.state, outcome.release.unwrap().live), (CheckState::None, true));
}

async fn a_failed_function_is_not_released_by_another_change(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let (bad, _) = t.deploy_checked("hello", "two", "n").await;
    t.check(&bad, "n", false).await;
    let with_config = t.put_checked([config("a", 1)], "n").await.release.unwrap();
    assert_eq!(with_config.check.state, CheckState::Pending);
    let lease = t.take_check(&with_config.id, "n").await.unwrap();
    assert_eq!(t.to_load(&lease).await, ["hello 2"]);
    // Nor with a write that asks for no check: then the first node that looks checks it.
    let unasked = t.put([config("a", 2)]).await.release.unwrap();
    assert_eq!(unasked.check.state, CheckState::Pending);
    let by_hand = t.catalog.release_create(&t.app, "ann", None, String::new()).await.unwrap().0;
    assert_eq!(by_hand.check.state, CheckState::Pending);
    assert_eq!(names(t).await, both(&first));
    assert!(t.take_check(&unasked.id, "other").await.is_some());
}

async fn a_skipped_check_is_recorded(t: &Fixture) {
    let tree = t.tree("one").await;
    let unchecked = Change { check: false, ..change([package("hello", tree), function_on("hello", "hello")]) };
    let outcome = t.send_checked(unchecked, "n").await.unwrap();
    let release = outcome.release.unwrap();
    assert_eq!((release.check.state, release.live), (CheckState::Skipped, true));
    let created = t.events().await.into_iter().find(|event| event.kind == "release.created").unwrap();
    assert_eq!(created.after.unwrap()["check"], "skipped");
}

async fn nothing_expires_for_a_release_that_may_fail(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let mut good = Vec::new();
    for code in ["1", "2", "3"] {
        let (release, _) = t.deploy_checked("hello", code, "n").await;
        t.check(&release, "n", true).await;
        good.insert(0, release);
    }
    let (bad, _) = t.deploy_checked("hello", "bad", "n").await;
    assert_eq!(t.active().await[1..], good);
    t.check(&bad, "n", false).await;
    assert_eq!(t.active().await[1..], good, "what worked stays");
    // Only one failed release is kept.
    let (worse, _) = t.deploy_checked("hello", "worse", "n").await;
    let Settled::Done(done) = t.check(&worse, "n", false).await else { panic!("not settled") };
    assert_eq!(done.expired, [bad]);
    assert_eq!(t.active().await[1..], good);
    // A release that passes replaces the failed one, and the oldest.
    let (fourth, _) = t.deploy_checked("hello", "4", "n").await;
    let Settled::Done(done) = t.check(&fourth, "n", true).await else { panic!("not settled") };
    assert_eq!(done.expired, [worse, good[2].clone()]);
    assert_eq!(t.active().await, [fourth.clone(), good[0].clone(), good[1].clone()]);
    assert_eq!(t.catalog.check_get(&t.app, &fourth).await.unwrap().expired.len(), 2);
}

async fn a_release_without_room_is_rejected_before_anything_is_written(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    for code in ["1", "2", "3"] {
        let (release, _) = t.deploy_checked("hello", code, "n").await;
        t.check(&release, "n", true).await;
        t.tag(&format!("t{code}"), &release).await.unwrap();
    }
    let (tree, before) = (t.tree("4").await, t.rows().await);
    let refusal = refused(t.send_checked(change([package("hello", tree)]), "n").await);
    assert_eq!(refusal.code, Code::NoRoom);
    let mut after = t.rows().await;
    for blobs in ["blobs", "packs", "tree_edges"] {
        after.insert(blobs, before[blobs]);
    }
    assert_eq!(after, before);
}

async fn an_older_release_that_passes_late_moves_no_pointer(t: &Fixture) {
    let (slow, _) = t.deploy_checked("hello", "one", "slow").await;
    let (fast, _) = t.deploy_checked("hello", "two", "fast").await;
    t.check(&fast, "fast", true).await;
    let Settled::Done(done) = t.check(&slow, "slow", true).await else { panic!("not settled") };
    assert_eq!((done.release.check.state, done.release.latest), (CheckState::Passed, false));
    assert_eq!(names(t).await, both(&fast));
}

async fn more_functions_are_loaded_if_latest_moves_back_meanwhile(t: &Fixture) {
    let (first, _) = t.deploy_checked("a", "one", "n").await;
    t.check(&first, "n", true).await;
    let (second, _) = t.deploy_checked("b", "one", "n").await;
    t.check(&second, "n", true).await;
    let (third, _) = t.deploy_checked("a", "two", "n").await;
    let lease = t.take_check(&third, "n").await.unwrap();
    assert_eq!(t.to_load(&lease).await, ["a 2"]);
    let found = t.catalog.check_functions(&lease).await.unwrap().unwrap().functions;
    t.catalog.live_set(&t.app, "ann", LiveTarget::Release(first), String::new()).await.unwrap();
    t.catalog.release_expire(&t.app, "ann", second, String::new()).await.unwrap();
    assert_eq!(t.to_load(&lease).await, ["a 2", "b 1"]);
    let check = milepost_model::check::FunctionCheck {
        name: "a".parse().unwrap(),
        number: 2,
        state: milepost_model::check::LoadState::Ok,
        reason: String::new(),
        log: Vec::new(),
    };
    let loaded = found.into_iter().map(|id| (id, check.clone())).collect();
    assert!(matches!(t.catalog.check_settle(&lease, loaded).await.unwrap(), Settled::Again));
    assert!(matches!(t.settle_check(&lease, |_, _| true).await, Settled::Done(_)));
}

async fn one_node_at_a_time_checks_a_release(t: &Fixture) {
    let other = t.another().await;
    let (release, _) = t.deploy_checked("hello", "one", "n1").await;
    assert!(t.take_check(&release, "n2").await.is_none());
    assert!(other.checks_take_due("n2", LONG_MS, 10).await.unwrap().is_empty());
    let lost = t.take_check(&release, "n1").await.unwrap();
    // Ends its lease at once, as after a node's death.
    assert!(t.catalog.check_renew(&lost, -1).await.unwrap());
    let taken = tokio::join!(other.checks_take_due("n2", LONG_MS, 10), t.catalog.checks_take_due("n3", LONG_MS, 10));
    let mut taken: Vec<_> = taken.0.unwrap().into_iter().chain(taken.1.unwrap()).collect();
    assert_eq!(taken.len(), 1);
    let lease = taken.pop().unwrap();
    assert_eq!((&lease.app, &lease.release), (&t.app, &release));
    assert!(!t.catalog.check_renew(&lost, LONG_MS).await.unwrap());
    assert!(matches!(t.settle_check(&lost, |_, _| false).await, Settled::NotHeld));
    assert_eq!(names(t).await, (None, None));
    assert!(matches!(t.settle_check(&lease, |_, _| true).await, Settled::Done(_)));
    assert!(matches!(t.settle_check(&lease, |_, _| false).await, Settled::NotHeld));
    assert_eq!(names(t).await, both(&release));
}

async fn a_released_check_can_be_taken_at_once(t: &Fixture) {
    let (release, _) = t.deploy_checked("hello", "one", "n1").await;
    let lease = t.take_check(&release, "n1").await.unwrap();
    t.catalog.check_let_go(&lease).await.unwrap();
    assert_eq!(t.catalog.checks_take_due("n2", LONG_MS, 10).await.unwrap().len(), 1);
    t.catalog.checks_end_leases().await.unwrap();
    assert_eq!(t.catalog.checks_take_due("n3", LONG_MS, 10).await.unwrap().len(), 1);
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    t.catalog.checks_end_leases().await.unwrap();
    assert!(t.catalog.checks_take_due("n4", LONG_MS, 10).await.unwrap().is_empty());
}

async fn a_pinned_live_moves_only_when_the_release_that_takes_its_pin_passes(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    t.catalog.live_set(&t.app, "ann", LiveTarget::Release(first.clone()), String::new()).await.unwrap();
    let (second, _) = t.deploy_checked("hello", "two", "n").await;
    t.check(&second, "n", true).await;
    assert_eq!(names(t).await, (Some(first.clone()), Some(second)));
    let takes_over = async |release: &str| {
        let sql = format!(
            "UPDATE releases SET pins_live = (SELECT live_release_id FROM apps WHERE name = '{}') WHERE name = '{release}' \
             RETURNING id",
            t.app
        );
        t.number(&sql).await
    };
    let (bad, _) = t.deploy_checked("hello", "three", "n").await;
    takes_over(&bad).await;
    t.check(&bad, "n", false).await;
    assert_eq!(names(t).await.0, Some(first));
    let (third, _) = t.deploy_checked("hello", "four", "n").await;
    takes_over(&third).await;
    t.check(&third, "n", true).await;
    assert_eq!((names(t).await, t.live().await.mode), (both(&third), LiveMode::Pinned));
    // A user who moves live meanwhile has decided where it stays.
    let (fourth, _) = t.deploy_checked("hello", "five", "n").await;
    takes_over(&fourth).await;
    t.catalog.live_set(&t.app, "ann", LiveTarget::Follow, String::new()).await.unwrap();
    t.catalog.live_set(&t.app, "ann", LiveTarget::Forced(bad.clone()), String::new()).await.unwrap();
    t.check(&fourth, "n", true).await;
    assert_eq!(names(t).await, (Some(bad), Some(fourth)));
}

async fn a_held_back_release_goes_live_only_by_force_and_rollbacks_need_no_check(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let (second, _) = t.deploy_checked("hello", "two", "n").await;
    t.check(&second, "n", true).await;
    let (bad, _) = t.deploy_checked("hello", "bad", "n").await;
    let put_live = async |target| t.catalog.live_set(&t.app, "ann", target, String::new()).await;
    assert_eq!(refused(put_live(LiveTarget::Release(bad.clone())).await).code, Code::CheckFailed);
    t.check(&bad, "n", false).await;
    assert_eq!(refused(put_live(LiveTarget::Release(bad.clone())).await).code, Code::CheckFailed);
    let back = RollbackInput { to: None, why: String::new(), dry_run: false };
    assert_eq!(t.catalog.rollback(&t.app, "ann", back).await.unwrap().to.id, first);
    put_live(LiveTarget::Forced(bad.clone())).await.unwrap();
    assert_eq!(names(t).await, (Some(bad), Some(second.clone())));
    put_live(LiveTarget::Follow).await.unwrap();
    assert_eq!(names(t).await, both(&second));
}

async fn a_resent_change_returns_the_release_of_the_first(t: &Fixture) {
    let tree = t.tree("one").await;
    let put = || change([package("hello", tree), function_on("hello", "hello")]);
    let keyed = || milepost_catalog::ChangeInput { idempotency_key: Some("k".to_owned()), ..input(put()) };
    let first = t.catalog.change_checked(&t.app, keyed(), by("n1")).await.unwrap();
    let again = t.catalog.change_checked(&t.app, keyed(), by("n2")).await.unwrap();
    assert_eq!(again, first);
    let release = first.release.unwrap().id;
    assert!(t.take_check(&release, "n2").await.is_none());
    t.check(&release, "n1", false).await;
    // The same content in another change makes nothing, and reports that the release is held back.
    let same = t.send_checked(put(), "n3").await.unwrap();
    assert_eq!((same.changed, same.check.state), (false, CheckState::Failed));
}

async fn a_delete_lists_the_functions_that_it_would_release(t: &Fixture) {
    let mut releases = Vec::new();
    for (code, loads) in [("one", true), ("two", false), ("three", true)] {
        let (release, _) = t.deploy_checked("hello", code, "n").await;
        t.check(&release, "n", loads).await;
        releases.push(release);
    }
    let function = key(UnitKind::Function, "hello");
    let third = || VersionsToDelete::One("3".parse().unwrap());
    let new = t.catalog.version_delete_functions(&t.app, "ann", function.clone(), third()).await.unwrap();
    let numbers: Vec<i64> = new.functions.iter().map(|id| new.versions[id].number).collect();
    assert_eq!((numbers, names(t).await), (vec![2], both(&releases[2])));
    let skipped = Checking::Skipped;
    let deleted = t.catalog.version_delete_checked(&t.app, "ann", function, third(), false, skipped).await.unwrap();
    assert_eq!(names(t).await, both(&deleted.release.unwrap().id));
}

/// Deletes as the server does, after loading the functions that it brings to users.
async fn delete_loaded(t: &Fixture, function: &str, which: VersionsToDelete) -> ChangeOutcome {
    let function = key(UnitKind::Function, function);
    let new = t.catalog.version_delete_functions(&t.app, "ann", function.clone(), which.clone()).await.unwrap();
    let loaded = Checking::Loaded(new.functions.into_iter().collect());
    t.catalog.version_delete_checked(&t.app, "ann", function, which, false, loaded).await.unwrap()
}

async fn a_delete_leaves_live_on_an_active_release(t: &Fixture) {
    let (bad, _) = t.deploy_checked("f", "bad", "n").await;
    t.check(&bad, "n", false).await;
    for (function, code) in [("f", "one"), ("g", "one")] {
        let (release, _) = t.deploy_checked(function, code, "n").await;
        t.check(&release, "n", true).await;
    }
    let outcome = delete_loaded(t, "f", VersionsToDelete::All).await;
    let release = outcome.release.unwrap();
    assert_eq!((release.check.state, release.live, release.latest), (CheckState::None, true, true));
    assert_eq!(names(t).await, both(&release.id));
    assert_eq!(t.active().await[0], release.id);
}

async fn a_delete_with_a_pending_release_moves_live_to_an_active_one(t: &Fixture) {
    let mut releases = Vec::new();
    for (code, loads) in [("one", true), ("bad", false), ("three", true)] {
        let (release, _) = t.deploy_checked("f", code, "n").await;
        t.check(&release, "n", loads).await;
        releases.push(release);
    }
    let delete = async |version: &str| {
        let which = VersionsToDelete::One(version.parse().unwrap());
        let function = key(UnitKind::Function, "f");
        t.catalog.version_delete_checked(&t.app, "ann", function, which, false, Checking::Unasked).await
    };
    let outcome = delete("3").await.unwrap();
    assert_eq!(outcome.check.state, CheckState::Pending);
    assert_eq!(names(t).await, both(&releases[0]));
    // Nothing else could be live then.
    let refusal = refused(delete("1").await);
    assert_eq!(refusal.code, Code::InUse);
    assert!(refusal.message.contains("nothing live"), "{}", refusal.message);
    assert_eq!(names(t).await, both(&releases[0]));
}

async fn a_delete_does_not_release_a_deploy_made_during_its_check(t: &Fixture) {
    for (function, code) in [("g", "one"), ("f", "one"), ("f", "two")] {
        let (release, _) = t.deploy_checked(function, code, "n").await;
        t.check(&release, "n", true).await;
    }
    let f = key(UnitKind::Function, "f");
    let newest = || VersionsToDelete::One("2".parse().unwrap());
    let new = t.catalog.version_delete_functions(&t.app, "ann", f.clone(), newest()).await.unwrap();
    let loaded: std::collections::BTreeSet<i64> = new.functions.into_iter().collect();
    assert_eq!(loaded.len(), 1);
    let (broken, _) = t.deploy_checked("g", "broken", "n").await;
    let before = t.rows().await;
    let delete = async |loaded| {
        let checking = Checking::Loaded(loaded);
        t.catalog.version_delete_checked(&t.app, "ann", f.clone(), newest(), false, checking).await
    };
    assert_eq!(refused(delete(loaded.clone()).await).code, Code::HeadMoved);
    assert_eq!(t.rows().await, before);
    t.check(&broken, "n", false).await;
    let (third, _) = t.deploy_checked("g", "three", "n").await;
    t.check(&third, "n", true).await;
    let outcome = delete(loaded).await.unwrap();
    assert_eq!(outcome.check.state, CheckState::Passed);
    assert_eq!(names(t).await, both(&outcome.release.unwrap().id));
}

async fn a_failed_function_is_held_back_after_its_release_expired(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let (bad, _) = t.deploy_checked("hello", "two", "n").await;
    t.check(&bad, "n", false).await;
    t.catalog.release_expire(&t.app, "ann", bad, String::new()).await.unwrap();
    // The app still has that code.
    let unasked = t.put([config("a", 2)]).await.release.unwrap();
    assert_eq!(unasked.check.state, CheckState::Pending);
    assert_eq!(names(t).await, both(&first));
}

async fn a_v1_write_does_not_release_held_back_functions(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    t.deploy("other", "0").await;
    let write = async |function: &str, code: &str| {
        let tree = t.tree(code).await;
        let puts = change([package(function, tree), function_on(function, function)]);
        let key = key(UnitKind::Function, function);
        let wanted = milepost_catalog::V1Change::new(puts, key, serde_json::Map::new());
        t.catalog.v1_change(&t.app, "v1", wanted).await.unwrap();
        t.catalog.release_list(&t.app, true, ALL).await.unwrap().items.remove(0)
    };
    // Its own code needs no check.
    let own = write("other", "1").await;
    assert_eq!((own.check.state, own.live), (CheckState::Skipped, true));
    let (bad, _) = t.deploy_checked("hello", "bad", "n").await;
    t.check(&bad, "n", false).await;
    let with_bad = write("other", "2").await;
    assert_eq!((with_bad.check.state, with_bad.live), (CheckState::Pending, false));
    t.catalog.v1_publish(&t.app, "v1", "other".parse().unwrap(), String::new()).await.unwrap();
    t.catalog.v1_publish(&t.app, "v1", "other".parse().unwrap(), String::new()).await.unwrap();
    assert_eq!(names(t).await, both(&own.id));
    // A function that v1 fixes goes out, with its own code unchecked.
    let repaired = write("hello", "good").await;
    assert_eq!((repaired.check.state, repaired.live), (CheckState::Pending, false));
    let taken = t.catalog.checks_take_due("n2", LONG_MS, 10).await.unwrap();
    let lease = taken.iter().find(|lease| lease.release == repaired.id).unwrap();
    assert!(matches!(t.settle_check(lease, |_, _| true).await, Settled::Done(_)));
    assert_eq!(names(t).await, both(&repaired.id));
}

async fn an_unchanged_change_returns_the_held_back_release(t: &Fixture) {
    let (first, _) = t.deploy_checked("hello", "one", "n").await;
    t.check(&first, "n", true).await;
    let tree = t.tree("two").await;
    let put = || change([package("hello", tree), function_on("hello", "hello")]);
    let release = t.send_checked(put(), "n").await.unwrap().release.unwrap().id;
    for dry_run in [true, false] {
        let again = t.send_checked(Change { dry_run, ..put() }, "other").await.unwrap();
        assert!(!again.changed);
        assert_eq!((again.release.unwrap().id, again.check.state), (release.clone(), CheckState::Pending));
    }
    t.check(&release, "n", false).await;
    let again = t.send_checked(put(), "other").await.unwrap();
    assert_eq!((again.release.unwrap().id, again.check.state), (release, CheckState::Failed));
    let (good, _) = t.deploy_checked("hello", "three", "n").await;
    t.check(&good, "n", true).await;
    let tree = t.tree("three").await;
    let same = t.send_checked(change([package("hello", tree)]), "n").await.unwrap();
    assert!(!same.changed && same.release.is_none() && same.check.is_none());
}

on_both_engines!(
    a_release_goes_live_when_its_functions_have_loaded,
    a_release_that_fails_to_load_is_held_back_and_the_next_good_one_goes_live,
    a_release_without_new_functions_is_live_at_once,
    a_failed_function_is_not_released_by_another_change,
    a_skipped_check_is_recorded,
    nothing_expires_for_a_release_that_may_fail,
    a_release_without_room_is_rejected_before_anything_is_written,
    an_older_release_that_passes_late_moves_no_pointer,
    more_functions_are_loaded_if_latest_moves_back_meanwhile,
    one_node_at_a_time_checks_a_release,
    a_released_check_can_be_taken_at_once,
    a_pinned_live_moves_only_when_the_release_that_takes_its_pin_passes,
    a_held_back_release_goes_live_only_by_force_and_rollbacks_need_no_check,
    a_resent_change_returns_the_release_of_the_first,
    a_delete_lists_the_functions_that_it_would_release,
    a_delete_leaves_live_on_an_active_release,
    a_delete_with_a_pending_release_moves_live_to_an_active_one,
    a_delete_does_not_release_a_deploy_made_during_its_check,
    a_failed_function_is_held_back_after_its_release_expired,
    a_v1_write_does_not_release_held_back_functions,
    an_unchanged_change_returns_the_held_back_release,
);

use milepost_catalog::{CatalogError, LiveTarget, Rollback, RollbackInput};
use milepost_model::Next;
use milepost_model::change::Change;
use milepost_model::release::{Live, LiveMode};
use milepost_model::{Code, PlanName, UnitKind, Warning};

use crate::common::facts::RefusalFacts;
use crate::common::*;

async fn release(t: &Fixture, value: i64) -> String {
    t.put([config("n", value)]).await.release.unwrap().id
}

async fn set(t: &Fixture, target: LiveTarget) -> Result<Live, CatalogError> {
    t.clock.advance_ms(1000);
    t.catalog.live_set(&t.app, "liz", target, String::new()).await
}

async fn back(t: &Fixture, to: Option<&str>) -> Result<Rollback, CatalogError> {
    t.clock.advance_ms(1000);
    let input = RollbackInput { to: to.map(str::to_owned), why: "oops".into(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", input).await
}

async fn live_follows_until_pinned_and_follows_again_on_request(t: &Fixture) {
    let one = release(t, 1).await;
    let two = release(t, 2).await;
    assert_eq!((t.live_id().await, t.live().await.mode), (two, LiveMode::Following));
    let live = set(t, LiveTarget::Release(one.clone())).await.unwrap();
    assert_eq!((live.mode, live.release.unwrap().id), (LiveMode::Pinned, one.clone()));
    let outcome = t.put([config("n", 3)]).await;
    let three = outcome.release.unwrap();
    assert!(!three.live && three.latest);
    let (live, release) = (Some(one.clone()), three.id.clone());
    assert_eq!(outcome.notices, [Warning::LiveStaysPinned { live, release, planned: false }]);
    assert_eq!(t.live_id().await, one);
    set(t, LiveTarget::Follow).await.unwrap();
    assert_eq!((t.live_id().await, t.live().await.mode), (three.id, LiveMode::Following));
}

async fn live_is_pinned_by_tag_uid_or_id(t: &Fixture) {
    let one = t.put([config("n", 1)]).await;
    let (id, uid) = (one.release.unwrap().id, one.app_version.unwrap());
    release(t, 2).await;
    t.tag("good", &id).await.unwrap();
    for name in ["good", &uid, &id] {
        set(t, LiveTarget::Follow).await.unwrap();
        set(t, LiveTarget::Release(name.to_owned())).await.unwrap();
        assert_eq!(t.live_id().await, id, "{name}");
    }
    assert_eq!(refused(set(t, LiveTarget::Release("goood".into())).await).close_names(), ["good"]);
}

async fn each_rollback_goes_one_step_further_back(t: &Fixture) {
    let mut ids = Vec::new();
    for value in 1..=3 {
        ids.push(release(t, value).await);
    }
    let first = back(t, None).await.unwrap();
    assert_eq!((first.from.unwrap().id, first.to.id), (ids[2].clone(), ids[1].clone()));
    assert!(!first.released_again);
    assert_eq!(back(t, None).await.unwrap().to.id, ids[0]);
    let refusal = refused(back(t, None).await);
    assert_eq!(refusal.code, Code::NothingToRollBackTo);
    assert_eq!(t.live().await.mode, LiveMode::Pinned);
}

async fn a_change_after_a_rollback_leaves_live_with_a_warning(t: &Fixture) {
    let one = release(t, 1).await;
    release(t, 2).await;
    back(t, None).await.unwrap();
    let outcome = t.put([config("n", 3)]).await;
    assert_eq!(t.live_id().await, one);
    assert!(matches!(&outcome.notices[..], [Warning::LiveStaysPinned { .. }]), "{:?}", outcome.notices);
    // Putting it live by hand is a forward step, and a rollback leads back to where live was.
    let three = outcome.release.unwrap().id;
    set(t, LiveTarget::Release(three)).await.unwrap();
    assert_eq!(back(t, None).await.unwrap().to.id, one);
}

async fn a_rollback_to_an_expired_release_releases_it_again(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let old = t.put([config("n", 0)]).await;
    for value in 1..=3 {
        release(t, value).await;
    }
    let id = old.release.unwrap().id;
    let done = back(t, Some(&id)).await.unwrap();
    assert!(done.released_again);
    assert_ne!(done.to.id, id);
    assert_eq!(Some(&done.to.app_version), old.app_version.as_ref());
    assert_eq!((done.expired.len(), done.to.live), (1, true));
    assert_eq!(t.active().await.len(), 3);
}

async fn a_rollback_can_target_an_unreleased_app_version(t: &Fixture) {
    let quiet = Change { release: false, ..change([config("n", 1)]) };
    let uid = t.send(quiet).await.unwrap().app_version.unwrap();
    release(t, 2).await;
    let done = back(t, Some(&uid)).await.unwrap();
    assert!(done.released_again);
    assert_eq!(done.to.app_version, uid);
}

async fn a_rollback_to_a_deleted_version_suggests_the_next_reachable_one(t: &Fixture) {
    let first = t.put([config("n", 1)]).await.app_version.unwrap();
    let second = t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
    t.delete(UnitKind::Function, "hello", "1").await.unwrap();
    let refusal = refused(back(t, None).await);
    assert_eq!(refusal.code, Code::VersionDeleted);
    let (uid, release) = (second.app_version.unwrap(), second.release.unwrap().id);
    assert!(refusal.message.contains(&uid) && refusal.message.contains(&release), "{}", refusal.message);
    assert!(refusal.next.contains(&Next::RollBackTo { target: first.clone() }), "{refusal:?}");
    assert_eq!(back(t, Some(&first)).await.unwrap().to.app_version, first);
}

async fn a_dry_run_rollback_moves_nothing(t: &Fixture) {
    let one = release(t, 1).await;
    let two = release(t, 2).await;
    let before = t.rows().await;
    let input = RollbackInput { to: None, why: String::new(), dry_run: true };
    assert_eq!(t.catalog.rollback(&t.app, "liz", input).await.unwrap().to.id, one);
    assert_eq!((t.live_id().await, t.live().await.mode), (two, LiveMode::Following));
    assert_eq!(t.rows().await, before);
}

async fn the_history_has_every_move_of_live_and_latest(t: &Fixture) {
    let one = release(t, 1).await;
    let two = release(t, 2).await;
    back(t, None).await.unwrap();
    let moves = t.catalog.live_history(&t.app, ALL).await.unwrap().items;
    let ends: Vec<_> = moves.iter().map(|step| (step.from.clone(), step.to.clone())).collect();
    let (one, two) = (Some(one), Some(two));
    assert_eq!(ends, [(two.clone(), one.clone()), (one.clone(), two.clone()), (None, one.clone())]);
    assert_eq!((moves[0].by.as_str(), moves[0].why.as_str(), moves[0].at), ("liz", "oops", t.catalog.now()));
    let latest = t.catalog.latest_history(&t.app, ALL).await.unwrap().items;
    let ends: Vec<_> = latest.iter().map(|step| step.to.clone()).collect();
    assert_eq!(ends, [two, one]);
}

async fn pinning_and_unpinning_live_in_place_is_recorded(t: &Fixture) {
    let one = release(t, 1).await;
    let since = t.catalog.now();
    let told = async || {
        let moves = t.catalog.live_history(&t.app, ALL).await.unwrap().items;
        let events = t.events().await;
        let event = events.last().unwrap();
        let mode = event.after.as_ref().unwrap()["mode"].as_str().unwrap().to_owned();
        let newest = &moves[0];
        assert_eq!((&newest.from, &newest.to), (&Some(one.clone()), &Some(one.clone())));
        assert_eq!((newest.by.as_str(), newest.at), ("liz", t.catalog.now()));
        assert_eq!((event.actor.as_str(), &event.after.as_ref().unwrap()["why"]), ("liz", &newest.why.as_str().into()));
        (event.kind.clone(), mode, newest.why.clone(), moves.len())
    };
    let expect = |kind: &str, mode: &str, why: &str, moves| (kind.to_owned(), mode.to_owned(), why.to_owned(), moves);

    set(t, LiveTarget::Release("latest".into())).await.unwrap();
    assert_eq!(told().await, expect("live.pinned", "pinned", "pinned where it was", 2));
    // Repeating it records nothing.
    set(t, LiveTarget::Release(one.clone())).await.unwrap();
    assert_eq!(t.catalog.live_history(&t.app, ALL).await.unwrap().items.len(), 2);
    set(t, LiveTarget::Follow).await.unwrap();
    assert_eq!(told().await, expect("live.unpinned", "following", "follows latest, from where it was", 3));
    back(t, Some(&one)).await.unwrap();
    assert_eq!(told().await, expect("live.pinned", "pinned", "pinned where it was: oops", 4));
    // `live_since` does not change, and a rollback does not count these entries as moves.
    assert_eq!(t.catalog.at(&t.app, t.catalog.now()).await.unwrap().live_since, since);
    assert_eq!(refused(back(t, None).await).code, Code::NothingToRollBackTo);
}

on_both_engines!(
    pinning_and_unpinning_live_in_place_is_recorded,
    live_follows_until_pinned_and_follows_again_on_request,
    live_is_pinned_by_tag_uid_or_id,
    each_rollback_goes_one_step_further_back,
    a_change_after_a_rollback_leaves_live_with_a_warning,
    a_rollback_to_an_expired_release_releases_it_again,
    a_rollback_can_target_an_unreleased_app_version,
    a_rollback_to_a_deleted_version_suggests_the_next_reachable_one,
    a_dry_run_rollback_moves_nothing,
    the_history_has_every_move_of_live_and_latest,
);

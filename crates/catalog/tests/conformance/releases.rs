use milepost_catalog::{LiveTarget, Page, RollbackInput};
use milepost_model::Next;
use milepost_model::change::Change;
use milepost_model::refusal::Field;
use milepost_model::release::ReleaseState;
use milepost_model::unit_put::FunctionPut;
use milepost_model::{Code, PlanName, UnitKind};

use crate::common::facts::RefusalFacts;
use crate::common::*;

/// Makes `count` releases and returns their ids, oldest first.
async fn releases(t: &Fixture, count: i64) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(t.put([config("n", 1).forced()]).await.release.unwrap().id);
    }
    ids
}

async fn create(
    t: &Fixture,
    app_version: Option<&str>,
) -> Result<(milepost_model::release::Release, Vec<String>), milepost_catalog::CatalogError> {
    t.catalog.release_create(&t.app, "rob", app_version.map(str::to_owned), String::new()).await
}

async fn a_change_is_released_unless_it_opts_out(t: &Fixture) {
    let quiet = Change { release: false, ..change([config("a", 1)]) };
    let outcome = t.send(quiet).await.unwrap();
    assert!(outcome.changed && outcome.release.is_none());
    assert!(t.live().await.release.is_none());
    let uid = outcome.app_version.unwrap();
    assert_eq!(refused(t.catalog.release_get(&t.app, uid.clone()).await).code, Code::NoRelease);
    assert_eq!(refused(t.catalog.release_get(&t.app, "live".to_owned()).await).code, Code::ReleaseNotFound);

    let (release, expired) = create(t, None).await.unwrap();
    assert_eq!((&release.app_version, release.live, release.latest), (&uid, true, true));
    assert!(expired.is_empty());
    for name in [release.id.as_str(), "live", "latest", &uid] {
        assert_eq!(t.release(name).await.id, release.id, "{name}");
    }
}

async fn an_empty_app_has_nothing_to_release(t: &Fixture) {
    assert_eq!(refused(create(t, None).await).code, Code::AppVersionNotFound);
    assert_eq!(refused(create(t, Some("nosuch")).await).code, Code::AppVersionNotFound);
}

async fn the_oldest_release_expires_at_the_plan_limit(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let ids = releases(t, 3).await;
    let outcome = t.put([config("a", 1)]).await;
    assert_eq!(outcome.expired, [ids[0].clone()]);
    let newest = outcome.release.unwrap().id;
    assert_eq!(t.active().await, [newest, ids[2].clone(), ids[1].clone()]);
    let old = t.release(&ids[0]).await;
    assert_eq!((old.state, old.expired_at), (ReleaseState::Expired, Some(t.catalog.now())));
}

async fn tagged_and_pinned_live_releases_do_not_expire(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let ids = releases(t, 3).await;
    t.tag("keep", &ids[0]).await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(ids[1].clone()), String::new()).await.unwrap();
    assert_eq!(t.put([config("a", 1)]).await.expired, [ids[2].clone()]);
}

async fn a_release_without_room_is_rejected_before_anything_is_written(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let ids = releases(t, 3).await;
    t.tag("one", &ids[0]).await.unwrap();
    t.tag("two", &ids[1]).await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(ids[2].clone()), String::new()).await.unwrap();
    let before = (t.rows().await, t.catalog.app_get(&t.app).await.unwrap().head, t.active().await);
    let refusal = t.refuse([config("a", 1)]).await;
    assert_eq!(refusal.code, Code::NoRoom);
    let expected = [
        format!("release {} (tag one) protects", ids[0]),
        format!("release {} (tag two) protects", ids[1]),
        format!("release {} (live) protects", ids[2]),
    ];
    assert_eq!(refusal.lines(), expected);
    assert!(refusal.next.contains(&Next::Give { field: Field::NoRelease }), "{refusal:?}");
    assert_eq!((t.rows().await, t.catalog.app_get(&t.app).await.unwrap().head, t.active().await), before);
    let quiet = Change { release: false, ..change([config("a", 1)]) };
    assert!(t.send(quiet).await.unwrap().changed);
    t.catalog.tag_delete(&t.app, "x", "one".parse().unwrap()).await.unwrap();
    assert_eq!(create(t, None).await.unwrap().1, [ids[0].clone()]);
}

async fn an_expired_release_comes_back_under_a_new_id(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let ids = releases(t, 4).await;
    let old = t.release(&ids[0]).await;
    for result in [
        t.tag("old", &ids[0]).await.map(drop),
        t.catalog.live_set(&t.app, "x", LiveTarget::Release(ids[0].clone()), String::new()).await.map(drop),
    ] {
        assert_eq!(refused(result).code, Code::ReleaseExpired);
    }
    let (again, expired) = create(t, Some(&ids[0])).await.unwrap();
    assert_ne!(again.id, old.id);
    assert_eq!((again.app_version, again.latest, again.live), (old.app_version, true, true));
    assert_eq!(expired, [ids[1].clone()]);
    assert_eq!(t.release(&ids[0]).await.state, ReleaseState::Expired);
}

async fn a_smaller_plan_takes_effect_with_the_next_release(t: &Fixture) {
    let ids = releases(t, 6).await;
    t.set_plan(PlanName::Free).await;
    assert_eq!(t.active().await.len(), 6);
    let outcome = t.put([config("a", 1)]).await;
    assert_eq!(outcome.expired, ids[..4]);
    assert_eq!(t.active().await.len(), 3);
}

async fn an_unprotected_release_can_be_expired_by_hand(t: &Fixture) {
    let ids = releases(t, 3).await;
    let expire = |id: &str| t.catalog.release_expire(&t.app, "x", id.to_owned(), String::new());
    t.tag("keep", &ids[0]).await.unwrap();
    assert_eq!(refused(expire(&ids[0]).await).lines(), ["tag keep protects"]);
    assert_eq!(refused(expire("live").await).lines(), ["live (following) protects"]);
    assert_eq!(expire(&ids[1]).await.unwrap().state, ReleaseState::Expired);
    assert_eq!(refused(expire(&ids[1]).await).code, Code::ReleaseExpired);
    assert_eq!(refused(expire("nosuch").await).code, Code::ReleaseNotFound);
    // Expires the newest while live is elsewhere: latest moves back.
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(ids[0].clone()), String::new()).await.unwrap();
    expire(&ids[2]).await.unwrap();
    assert_eq!(t.release("latest").await.id, ids[0]);
}

async fn an_app_version_with_deleted_versions_cannot_be_released_again(t: &Fixture) {
    let first = t.deploy("hello", "one").await.app_version.unwrap();
    t.deploy("hello", "two").await;
    t.delete(UnitKind::Function, "hello", "1").await.unwrap();
    let refusal = refused(create(t, Some(&first)).await);
    assert_eq!(refusal.code, Code::VersionDeleted);
    assert_eq!(refusal.lines(), ["function hello version 1 was deleted"]);
}

async fn an_old_app_version_is_released_again_only_within_the_current_plan(t: &Fixture) {
    t.deploy("hello", "one").await;
    let asks = FunctionPut { merge: true, memory: Some(1 << 30), ..FunctionPut::default() };
    let large = t.put([function_with("hello", asks)]).await;
    t.deploy("hello", "two").await;
    t.set_plan(PlanName::Free).await;
    let uid = large.app_version.unwrap();
    assert_eq!(refused(create(t, Some(&uid)).await).code, Code::PlanLimit);
    // A release that is still active may be put live: that makes nothing new.
    let id = large.release.unwrap().id;
    t.catalog.live_set(&t.app, "x", LiveTarget::Release(id.clone()), String::new()).await.unwrap();
    t.catalog.live_set(&t.app, "x", LiveTarget::Follow, String::new()).await.unwrap();
    t.catalog.release_expire(&t.app, "x", id.clone(), String::new()).await.unwrap();
    let to_large = RollbackInput { to: Some(id), why: String::new(), dry_run: false };
    assert_eq!(refused(t.catalog.rollback(&t.app, "x", to_large).await).code, Code::PlanLimit);
    create(t, Some("1")).await.unwrap();
}

async fn releases_are_listed_in_pages_newest_first(t: &Fixture) {
    let ids = releases(t, 5).await;
    let first = t.catalog.release_list(&t.app, false, Page { below: None, limit: 3 }).await.unwrap();
    let rest = t.catalog.release_list(&t.app, false, Page { below: first.next, limit: 3 }).await.unwrap();
    assert!(first.next.is_some() && rest.next.is_none());
    let found: Vec<String> = first.items.into_iter().chain(rest.items).map(|release| release.id).rev().collect();
    assert_eq!(found, ids);
}

on_both_engines!(
    a_change_is_released_unless_it_opts_out,
    an_empty_app_has_nothing_to_release,
    the_oldest_release_expires_at_the_plan_limit,
    tagged_and_pinned_live_releases_do_not_expire,
    a_release_without_room_is_rejected_before_anything_is_written,
    an_expired_release_comes_back_under_a_new_id,
    a_smaller_plan_takes_effect_with_the_next_release,
    an_unprotected_release_can_be_expired_by_hand,
    an_app_version_with_deleted_versions_cannot_be_released_again,
    an_old_app_version_is_released_again_only_within_the_current_plan,
    releases_are_listed_in_pages_newest_first,
);

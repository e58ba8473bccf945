//! A version is tried before users get it, and what users do meanwhile takes precedence.

use milepost_catalog::{CheckRecord, LeasedInstall, LiveTarget, RollbackInput, WentBack};
use milepost_model::Next;
use milepost_model::install::{InstallSettings, LiftInstall};
use milepost_model::refusal::Field;
use milepost_model::release::{LiveMode, ReleaseState};
use milepost_model::{Code, PlanName};

use crate::common::facts::RefusalFacts;
use crate::common::installed::*;
use crate::common::*;
use crate::installs::{put_live, roll_back, semver};

fn healthy_at(path: &str) -> InstallSettings {
    InstallSettings { health: Some(path.parse().unwrap()), ..InstallSettings::default() }
}

/// Puts 1.1.0 on trial after 1.0.0.
async fn on_trial(t: &Fixture, puts: [milepost_model::unit_put::Put; 1]) -> LeasedInstall {
    let first = t.install_with(healthy_at("/well"), version("1.0.0", [config("n", 1)], &[])).await.unwrap();
    t.catalog.install_healthy(&first.install.lease).await.unwrap();
    t.let_go(&first.install.lease).await;
    t.clock.advance_ms(1000);
    let taken = t.take("second").await.unwrap();
    t.upgrade(&taken, version("1.1.0", puts, &[])).await.unwrap().install
}

async fn release(t: &Fixture, app_version: Option<String>) {
    t.clock.advance_ms(1000);
    t.catalog.release_create(&t.app, "liz", app_version, String::new()).await.unwrap();
}

async fn an_unhealthy_version_is_rolled_back_and_skipped(t: &Fixture) {
    let first = t.install_with(healthy_at("/well"), version("1.0.0", [config("n", 1)], &[])).await.unwrap();
    assert!(first.install.install.on_trial);
    let well = t.catalog.install_healthy(&first.install.lease).await.unwrap();
    assert!(!well.install.on_trial);
    t.let_go(&first.install.lease).await;
    let taken = t.take("second").await.unwrap();
    let second = t.upgrade(&taken, version("1.1.0", [config("n", 2)], &[])).await.unwrap();
    assert!(!second.is_live && second.install.install.on_trial, "users keep what they have");
    assert_eq!(second.outcome.notices, []);
    // If the server dies here, the install is due, so that the trial ends.
    assert!(second.install.install.next_check_at.is_some());
    let moved = t.catalog.install_healthy(&taken.lease).await.unwrap().install;
    assert_eq!((moved.live, moved.on_trial), (Some(semver("1.1.0")), true), "and once more where users are");
    assert_eq!(t.live().await.mode, LiveMode::Following);
    let (after, back) = t.catalog.install_unhealthy(&taken.lease, "status 500".into()).await.unwrap();
    assert_eq!((back, after.install.live), (WentBack::To(entry("1.0.0")), Some(semver("1.0.0"))));
    let install = t.install().await;
    assert_eq!((install.on_trial, install.brakes.skipped), (false, vec![semver("1.1.0")]));
    assert!(install.brakes.hold.unwrap().reason.contains("status 500"));
}

async fn live_never_moves_to_a_version_before_it_is_healthy(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    let moves = || async { t.events().await.into_iter().filter(|event| event.kind == "live.moved").count() };
    let before = moves().await;
    let (after, went) = t.catalog.install_unhealthy(&tried.lease, "status 500".into()).await.unwrap();
    assert_eq!((went, after.install.live), (WentBack::Stayed(entry("1.0.0")), Some(semver("1.0.0"))));
    assert_eq!((moves().await, after.install.entry), (before, entry("1.0.0")));
    assert_eq!((after.install.on_trial, after.install.brakes.skipped), (false, vec![semver("1.1.0")]));
    assert!(after.install.brakes.hold.unwrap().reason.contains("status 500"));
    t.let_go(&tried.lease).await;
    // A version above the hold moves live again once it is healthy.
    let taken = t.take("third").await.unwrap();
    t.upgrade(&taken, version("1.2.0", [config("n", 3)], &[])).await.unwrap();
    assert_eq!(t.install().await.live, Some(semver("1.0.0")));
    for _ in 0..2 {
        t.catalog.install_healthy(&taken.lease).await.unwrap();
    }
    let install = t.install().await;
    assert_eq!((install.live, install.on_trial), (Some(semver("1.2.0")), false));
    assert_eq!(t.live().await.mode, LiveMode::Following);
}

async fn a_failure_is_reported_until_a_newer_version_succeeds_or_it_is_lifted(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    t.catalog.install_unhealthy(&tried.lease, "status 500".into()).await.unwrap();
    let record = CheckRecord { revision: tried.revision, ..CheckRecord::default() };
    t.catalog.install_give_back(&tried.lease, record).await.unwrap();
    let failure = t.install().await.last_failure.unwrap();
    assert_eq!((failure.version, failure.at), (semver("1.1.0"), t.catalog.now()));
    assert!(failure.reason.contains("status 500"), "{}", failure.reason);
    let taken = t.take("third").await.unwrap();
    t.upgrade(&taken, version("1.2.0", [config("n", 3)], &[])).await.unwrap();
    assert!(t.install().await.last_failure.is_some(), "1.2.0 has not succeeded yet");
    for _ in 0..2 {
        t.catalog.install_healthy(&taken.lease).await.unwrap();
    }
    assert_eq!(t.install().await.last_failure, None);
    t.let_go(&taken.lease).await;
    roll_back(t).await;
    assert!(t.install().await.last_failure.unwrap().reason.contains("oops"));
    t.catalog.install_lift(&t.app, "liz", LiftInstall::default()).await.unwrap();
    assert_eq!(t.install().await.last_failure, None);
}

async fn a_secret_set_during_the_trial_goes_live_with_the_version(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    t.put([secret("KEY", "x")]).await;
    assert_eq!(t.install().await.live, Some(semver("1.0.0")), "a secret does not put it live");
    let moved = t.catalog.install_healthy(&tried.lease).await.unwrap().install;
    assert_eq!(moved.live, Some(semver("1.1.0")));
    assert_eq!(t.live_id().await, t.release("latest").await.id, "and live has the secret");
}

async fn user_moves_of_live_during_the_trial_take_precedence(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    // Pinned where it is: the version is healthy, and live stays.
    put_live(t, LiveTarget::Release(t.live_id().await)).await;
    let well = t.catalog.install_healthy(&tried.lease).await.unwrap().install;
    assert_eq!((well.live, well.on_trial), (Some(semver("1.0.0")), false));
    assert_eq!(t.live().await.mode, LiveMode::Pinned);
    put_live(t, LiveTarget::Follow).await;
    t.let_go(&tried.lease).await;
    // Rolled back to where it is: that is a pin too.
    let taken = t.take("third").await.unwrap();
    t.upgrade(&taken, version("1.2.0", [config("n", 3)], &[])).await.unwrap();
    let here = RollbackInput { to: Some(t.live_id().await), why: "stay".into(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", here).await.unwrap();
    assert!(t.install().await.on_trial, "live is theirs, and the version is tried all the same");
    let well = t.catalog.install_healthy(&taken.lease).await.unwrap().install;
    assert_eq!((well.entry, well.live, well.on_trial), (entry("1.2.0"), Some(semver("1.1.0")), false));
    assert_eq!(t.live().await.mode, LiveMode::Pinned);
    put_live(t, LiveTarget::Follow).await;
    t.let_go(&taken.lease).await;
    // Following: the next version is live at once, and its trial continues.
    let taken = t.take("fourth").await.unwrap();
    t.upgrade(&taken, version("1.3.0", [config("n", 4)], &[])).await.unwrap();
    put_live(t, LiveTarget::Follow).await;
    let install = t.install().await;
    assert_eq!((install.live, install.on_trial), (Some(semver("1.3.0")), true));
    let (after, went) = t.catalog.install_unhealthy(&taken.lease, "status 500".into()).await.unwrap();
    assert_eq!((went, after.install.live), (WentBack::To(entry("1.2.0")), Some(semver("1.2.0"))));
}

async fn an_unhealthy_first_version_has_nothing_to_go_back_to(t: &Fixture) {
    let first = t.install_with(healthy_at("/well"), version("1.0.0", [config("n", 1)], &[])).await.unwrap();
    let (after, back) = t.catalog.install_unhealthy(&first.install.lease, "status 500".into()).await.unwrap();
    assert_eq!((back, after.install.on_trial, after.install.live), (WentBack::Nowhere, false, Some(semver("1.0.0"))));
}

async fn a_secret_set_during_the_trial_does_not_keep_an_unhealthy_version_live(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    t.catalog.install_healthy(&tried.lease).await.unwrap();
    t.put([secret("KEY", "x")]).await;
    assert_eq!(t.install().await.live, Some(semver("1.1.0")));
    let (after, went) = t.catalog.install_unhealthy(&tried.lease, "status 500".into()).await.unwrap();
    assert_eq!((went, after.install.live), (WentBack::To(entry("1.0.0")), Some(semver("1.0.0"))));
    assert_eq!(t.live().await.mode, LiveMode::Pinned);
}

async fn a_user_rollback_ends_the_trial(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    t.catalog.install_healthy(&tried.lease).await.unwrap();
    roll_back(t).await;
    let before = t.install().await;
    let (after, went) = t.catalog.install_unhealthy(&tried.lease, "status 500".into()).await.unwrap();
    assert_eq!((went, &after.install), (WentBack::NoLongerOnTrial, &before));
    assert_eq!(after.install.brakes.skipped, [semver("1.1.0")]);
    assert!(after.install.brakes.hold.unwrap().reason.contains("oops"), "the person's reason stays");
}

async fn a_version_with_the_content_of_live_is_not_tried(t: &Fixture) {
    let tried = on_trial(t, [config("n", 1)]).await;
    assert_eq!((tried.install.entry, tried.install.on_trial), (entry("1.1.0"), false));
    t.let_go(&tried.lease).await;
    let next = t.take("third").await.unwrap();
    let next = t.upgrade(&next, version("1.2.0", [config("n", 2)], &[])).await.unwrap().install;
    let (_, went) = t.catalog.install_unhealthy(&next.lease, "status 500".into()).await.unwrap();
    assert_eq!(went, WentBack::Stayed(entry("1.1.0")));
}

async fn a_live_pinned_during_the_trial_stays_when_it_fails(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    put_live(t, LiveTarget::Release(t.live_id().await)).await;
    let (after, went) = t.catalog.install_unhealthy(&tried.lease, "status 500".into()).await.unwrap();
    assert_eq!((went, after.install.live), (WentBack::Stayed(entry("1.0.0")), Some(semver("1.0.0"))));
    assert_eq!(after.install.brakes.skipped, [semver("1.1.0")]);
}

async fn a_manual_release_during_the_trial_does_not_end_it(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    let before = t.install().await;
    let old = t.release("live").await.app_version;
    for app_version in [None, Some(old.clone())] {
        release(t, app_version).await;
        assert_eq!(t.install().await, before, "it is on trial, and nothing is held or skipped");
    }
    assert_eq!(t.release("latest").await.app_version, old);
    // The newest release is of an older app version, and live follows the newest. So the version is
    // released again.
    let moved = t.catalog.install_healthy(&tried.lease).await.unwrap().install;
    assert_eq!((moved.live, moved.on_trial), (Some(semver("1.1.0")), true));
    let latest = t.release("latest").await;
    assert_eq!((t.live_id().await, t.live().await.mode), (latest.id, LiveMode::Following));
    assert_eq!(latest.app_version, tried.install.app_version);
    let well = t.catalog.install_healthy(&tried.lease).await.unwrap().install;
    assert_eq!((well.on_trial, well.live), (false, Some(semver("1.1.0"))));
}

async fn a_version_on_trial_is_probed_at_its_newest_release(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let tried = on_trial(t, [config("n", 2)]).await;
    let asked = || async { t.catalog.install_trial_release(&tried.lease).await.unwrap() };
    let first = t.release("latest").await;
    assert_eq!(asked().await, (first.clone(), false));
    t.put([secret("KEY", "x")]).await;
    let (with_secret, again) = asked().await;
    assert_eq!((&with_secret.id, again), (&t.release("latest").await.id, false));
    // Live is pinned, so of three slots two are left. These take both.
    let old = t.release("live").await.app_version;
    for _ in 0..2 {
        release(t, Some(old.clone())).await;
    }
    assert_eq!(t.release(&with_secret.id).await.state, ReleaseState::Expired);
    let (made, again) = asked().await;
    assert_eq!((&made.app_version, made.state, again), (&tried.install.app_version, ReleaseState::Active, true));
    assert_eq!(asked().await, (made, false));
    assert_eq!(t.install().await.live, Some(semver("1.0.0")), "users keep what they have");
}

async fn an_app_cannot_be_detached_while_live_waits_for_a_version(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    let before = t.install().await;
    let refusal = refused(t.catalog.install_detach(&t.app, "liz").await);
    assert_eq!(refusal.code, Code::InstallBusy);
    assert!(refusal.message.contains("1.1.0 is on trial"), "{}", refusal.message);
    assert_eq!(t.install().await, before);
    // When live no longer waits, detaching leaves nothing behind.
    t.catalog.install_healthy(&tried.lease).await.unwrap();
    t.catalog.install_detach(&t.app, "liz").await.unwrap();
    assert_eq!(t.live().await.mode, LiveMode::Following);
    assert_eq!(t.release("live").await.app_version, tried.install.app_version);
}

async fn an_upgrade_without_room_is_not_hinted_to_skip_its_release(t: &Fixture) {
    t.set_plan(PlanName::Free).await;
    let tried = on_trial(t, [config("n", 2)]).await;
    for _ in 0..2 {
        t.catalog.install_healthy(&tried.lease).await.unwrap();
    }
    t.let_go(&tried.lease).await;
    release(t, None).await;
    for (number, id) in t.active().await.into_iter().enumerate() {
        t.tag(&format!("kept{number}"), &id).await.unwrap();
    }
    let taken = t.take("third").await.unwrap();
    let refusal = refused(t.upgrade(&taken, version("1.2.0", [config("n", 3)], &[])).await);
    assert_eq!((refusal.code, refusal.lines().len()), (Code::NoRoom, 3));
    let skip = Next::Give { field: Field::NoRelease };
    assert!(refusal.next.contains(&Next::Untag) && !refusal.next.contains(&skip), "{refusal:?}");
}

async fn a_trial_ignores_releases_with_manual_code_changes(t: &Fixture) {
    let tried = on_trial(t, [config("n", 2)]).await;
    let own = t.catalog.install_trial_release(&tried.lease).await.unwrap().0.id;
    let (by_hand, _) = t.deploy_checked("mine", "broken", "n").await;
    assert_eq!(t.catalog.install_trial_release(&tried.lease).await.unwrap().0.id, own);
    t.check(&by_hand, "n", false).await;
    assert_eq!(t.catalog.install_trial_release(&tried.lease).await.unwrap().0.id, own);
}

async fn an_older_change_that_passes_late_is_not_a_rollback(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let (by_hand, _) = t.deploy_checked("mine", "slow", "n").await;
    let upgraded = t.upgraded("1.1.0", [config("n", 2)]).await;
    assert!(!upgraded.is_live && upgraded.install.install.on_trial, "it has the function that is being checked");
    t.check(&by_hand, "n", true).await;
    assert_eq!(t.live_id().await, by_hand);
    let install = t.install().await;
    assert!(install.brakes.hold.is_none() && install.on_trial, "{:?}", install.brakes);
    assert_eq!((install.entry.version, install.brakes.skipped), (semver("1.1.0"), Vec::new()));
}

on_both_engines!(
    an_unhealthy_version_is_rolled_back_and_skipped,
    live_never_moves_to_a_version_before_it_is_healthy,
    a_failure_is_reported_until_a_newer_version_succeeds_or_it_is_lifted,
    a_secret_set_during_the_trial_goes_live_with_the_version,
    user_moves_of_live_during_the_trial_take_precedence,
    an_unhealthy_first_version_has_nothing_to_go_back_to,
    a_secret_set_during_the_trial_does_not_keep_an_unhealthy_version_live,
    a_user_rollback_ends_the_trial,
    a_version_with_the_content_of_live_is_not_tried,
    a_live_pinned_during_the_trial_stays_when_it_fails,
    a_manual_release_during_the_trial_does_not_end_it,
    a_version_on_trial_is_probed_at_its_newest_release,
    an_app_cannot_be_detached_while_live_waits_for_a_version,
    an_upgrade_without_room_is_not_hinted_to_skip_its_release,
    a_trial_ignores_releases_with_manual_code_changes,
    an_older_change_that_passes_late_is_not_a_rollback,
);

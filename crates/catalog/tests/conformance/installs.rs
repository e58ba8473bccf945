use milepost_catalog::{CheckRecord, LiveTarget, RollbackInput};
use milepost_model::Code;
use milepost_model::channel::{HoldUntil, SemVer};
use milepost_model::install::{HoldInstall, InstallChange, InstallSettings, LiftInstall, RollbackHolds};
use milepost_model::release::LiveMode;
use serde_json::json;

use crate::common::installed::*;
use crate::common::*;
use crate::facts::RefusalFacts;

pub(crate) fn semver(text: &str) -> SemVer {
    text.parse().unwrap()
}

pub(crate) async fn roll_back(t: &Fixture) {
    t.clock.advance_ms(1000);
    let input = RollbackInput { to: None, why: "oops".into(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", input).await.unwrap();
}

pub(crate) async fn put_live(t: &Fixture, target: LiveTarget) {
    t.clock.advance_ms(1000);
    t.catalog.live_set(&t.app, "liz", target, String::new()).await.unwrap();
}

async fn an_install_is_an_app_like_any_other(t: &Fixture) {
    let installed = t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    assert_eq!((installed.entry.version.as_str(), installed.installed_by.as_str()), ("1.0.0", "ina"));
    assert_eq!(installed.live, Some(semver("1.0.0")));
    let done = t.upgraded("1.1.0", [config("n", 2)]).await;
    assert!(done.is_live && done.outcome.changed);
    let install = t.install().await;
    assert_eq!(install.entry, entry("1.1.0"));
    assert_eq!(Some(install.app_version), done.outcome.app_version);
    assert_eq!(t.owners().await["config"], "install");
    let kinds: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&"install.created".to_owned()) && kinds.contains(&"install.upgraded".to_owned()));
    assert_eq!(t.catalog.install_list(None, 10).await.unwrap().items.len(), 1);
}

async fn an_upgrade_removes_missing_units_but_keeps_secrets(t: &Fixture) {
    let one = [config("n", 1), secret("KEY", "s3cret"), environment("own", "python3")];
    let done = t.install_with(InstallSettings::default(), version("1.0.0", one, &["KEY"])).await.unwrap();
    t.let_go(&done.install.lease).await;
    assert_eq!(t.present().await, ["config", "environment own", "secret KEY"]);
    t.upgraded("1.1.0", [config("n", 2)]).await;
    assert_eq!(t.present().await, ["config", "secret KEY"]);
}

async fn an_install_without_its_inputs_is_rejected_and_lists_them(t: &Fixture) {
    let rows = t.rows().await;
    let lacking = version("1.0.0", [config("n", 1)], &["DATABASE_URL", "KEY"]);
    let refusal = refused(t.install_with(InstallSettings::default(), lacking).await);
    assert_eq!(refusal.code, Code::MissingInputs);
    assert_eq!(refusal.lines(), ["DATABASE_URL", "KEY"]);
    assert_eq!(t.rows().await, rows);
}

async fn an_install_needs_an_empty_app(t: &Fixture) {
    t.put([config("n", 1)]).await;
    let again = || version("1.0.0", [config("n", 1)], &[]);
    assert_eq!(refused(t.install_with(InstallSettings::default(), again()).await).code, Code::InstallExists);
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    t.catalog.app_create(&t.app, milepost_model::PlanName::Standard, "ann").await.unwrap();
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    assert_eq!(refused(t.install_with(InstallSettings::default(), again()).await).code, Code::InstallExists);
    t.catalog.app_delete(&t.app, "ann").await.unwrap();
    let rows = t.rows().await;
    assert_eq!((rows["installs"], rows["install_versions"]), (0, 0));
}

async fn a_rollback_skips_the_version_and_holds_until_a_newer_one(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.upgraded("1.1.0", [config("n", 2)]).await;
    roll_back(t).await;
    let install = t.install().await;
    assert_eq!((install.entry, install.live), (entry("1.0.0"), Some(semver("1.0.0"))));
    assert_eq!((install.brakes.skipped, install.installed_by.as_str()), (vec![semver("1.1.0")], "liz"));
    let hold = install.brakes.hold.unwrap();
    assert_eq!(hold.until, HoldUntil::Above(semver("1.1.0")));
    assert!(hold.reason.contains("oops") && hold.reason.contains("liz"), "{}", hold.reason);
    assert!(install.next_check_at.is_some(), "the plan has to be made anew");
    assert_eq!(t.live().await.mode, LiveMode::Pinned);
    // A version above it ends the hold, and live moves.
    t.upgraded("1.2.0", [config("n", 3)]).await;
    let install = t.install().await;
    assert_eq!((install.brakes.hold, install.brakes.skipped), (None, vec![semver("1.1.0")]));
    assert_eq!(install.live, Some(semver("1.2.0")));
    assert_eq!(t.live().await.mode, LiveMode::Following);
}

async fn a_dry_run_rollback_leaves_no_brakes(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.upgraded("1.1.0", [config("n", 2)]).await;
    let input = RollbackInput { to: None, why: String::new(), dry_run: true };
    t.catalog.rollback(&t.app, "liz", input).await.unwrap();
    assert_eq!(t.install().await.brakes, milepost_model::channel::Brakes::default());
}

async fn a_lasting_hold_can_be_lifted_and_the_same_version_comes_back(t: &Fixture) {
    let settings = InstallSettings { rollback_holds: RollbackHolds::UntilLifted, ..InstallSettings::default() };
    t.installed(settings, "1.0.0", [config("n", 1)]).await;
    let second = t.upgraded("1.1.0", [config("n", 2)]).await;
    roll_back(t).await;
    assert_eq!(t.install().await.brakes.hold.unwrap().until, HoldUntil::Lifted);
    let lifted = t.catalog.install_lift(&t.app, "liz", LiftInstall::default()).await.unwrap();
    assert_eq!(lifted.brakes, milepost_model::channel::Brakes::default());
    // The app already has this content: only live moves.
    let again = t.upgraded("1.1.0", [config("n", 2)]).await;
    assert!(!again.outcome.changed && again.is_live);
    let install = t.install().await;
    assert_eq!((install.entry, install.live), (entry("1.1.0"), Some(semver("1.1.0"))));
    assert_eq!(Some(install.app_version), second.outcome.app_version);
}

async fn putting_a_release_live_by_hand_sets_the_installed_version(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let first = t.live_id().await;
    let second = t.upgraded("1.1.0", [config("n", 2)]).await.release.unwrap().id;
    put_live(t, LiveTarget::Release(first)).await;
    assert_eq!(t.install().await.brakes.skipped, [semver("1.1.0")]);
    put_live(t, LiveTarget::Release(second)).await;
    let install = t.install().await;
    assert_eq!((install.entry, install.brakes), (entry("1.1.0"), milepost_model::channel::Brakes::default()));
}

async fn following_again_after_a_rollback_lifts_its_brakes(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.upgraded("1.1.0", [config("n", 2)]).await;
    roll_back(t).await;
    put_live(t, LiveTarget::Follow).await;
    let install = t.install().await;
    assert_eq!((install.entry, install.brakes), (entry("1.1.0"), milepost_model::channel::Brakes::default()));
}

async fn an_upgrade_keeps_a_manually_pinned_live_and_reports_it(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    put_live(t, LiveTarget::Release(t.live_id().await)).await;
    let done = t.upgraded("1.1.0", [config("n", 2)]).await;
    assert!(!done.is_live);
    let install = t.install().await;
    assert_eq!((install.entry, install.live), (entry("1.1.0"), Some(semver("1.0.0"))));
}

async fn a_manual_downgrade_is_a_rollback(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.1.0", [config("n", 2)]).await;
    t.upgraded("1.0.0", [config("n", 1)]).await;
    let install = t.install().await;
    assert_eq!((install.entry, install.brakes.skipped), (entry("1.0.0"), vec![semver("1.1.0")]));
    assert_eq!(install.brakes.hold.unwrap().until, HoldUntil::Above(semver("1.1.0")));
}

async fn a_health_check_by_a_missing_function_is_rejected(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let before = t.install().await;
    let change = InstallChange { health: Some("function:check".to_owned()), ..InstallChange::default() };
    let refusal = refused(t.catalog.install_change(&t.app, "liz", change).await);
    assert_eq!(refusal.code, Code::UnitNotFound);
    assert!(refusal.message.contains("`check`"), "{}", refusal.message);
    assert_eq!(t.install().await, before);
}

async fn an_install_has_one_holder_until_the_lease_ends(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let taken = t.take("one").await.unwrap();
    let lease = taken.lease.clone();
    assert_eq!(refused(t.take("two").await).code, Code::InstallBusy);
    assert!(t.catalog.installs_take_due("two", "watcher", LEASE_MS, 10).await.unwrap().is_empty());
    t.clock.advance_ms(LEASE_MS - 1000);
    assert!(t.catalog.install_renew(&lease, LEASE_MS).await.unwrap());
    t.clock.advance_ms(2000);
    assert_eq!(refused(t.take("two").await).code, Code::InstallBusy);
    t.clock.advance_ms(LEASE_MS);
    // A holder that missed the end of its lease can change nothing, even if no other holder has it.
    let late = version("1.1.0", [config("n", 2)], &[]);
    assert_eq!(refused(t.upgrade(&taken, late.clone()).await).code, Code::InstallBusy);
    let other = t.catalog.installs_take_due("two", "watcher", LEASE_MS, 10).await.unwrap().remove(0);
    assert!(!t.catalog.install_renew(&lease, LEASE_MS).await.unwrap());
    assert_eq!(refused(t.upgrade(&taken, late.clone()).await).code, Code::InstallBusy);
    assert!(!t.catalog.install_give_back(&lease, CheckRecord::default()).await.unwrap());
    assert_eq!(t.install().await.entry, entry("1.0.0"));
    t.upgrade(&other, late).await.unwrap();
    assert_eq!(t.install().await.entry, entry("1.1.0"));
}

async fn concurrent_servers_take_a_due_install_once(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let holders: Vec<String> = (0..8).map(|number| format!("node {number}")).collect();
    let takes = holders.iter().map(|holder| t.catalog.installs_take_due(holder, "watcher", LEASE_MS, 10));
    let taken: usize = futures::future::try_join_all(takes).await.unwrap().iter().map(Vec::len).sum();
    assert_eq!(taken, 1);
}

async fn a_check_sets_the_next_time_unless_a_user_changed_the_install(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let taken = t.take("one").await.unwrap();
    let next = "2030-01-05T00:00:00Z".parse().unwrap();
    let record =
        CheckRecord { serial: 7, next_check_at: Some(next), revision: taken.revision, ..CheckRecord::default() };
    assert!(t.catalog.install_give_back(&taken.lease, record.clone()).await.unwrap());
    assert_eq!(t.install().await.next_check_at, Some(next));
    assert_eq!(t.catalog.installs_earliest(LEASE_MS).await.unwrap(), Some(next));
    let taken = t.take("two").await.unwrap();
    assert_eq!(taken.serial, 7);
    t.catalog.install_hold(&t.app, "liz", HoldInstall::default()).await.unwrap();
    t.catalog.install_give_back(&taken.lease, CheckRecord { serial: 3, ..record }).await.unwrap();
    let install = t.install().await;
    assert_eq!(install.next_check_at, Some(t.catalog.now()));
    assert_eq!(t.take("three").await.unwrap().serial, 7, "a serial never goes down");
}

async fn settings_are_changed_as_a_whole_and_overrides_at_once(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let wrong = InstallChange { poll_s: Some(0), ..InstallChange::default() };
    assert_eq!(refused(t.catalog.install_change(&t.app, "liz", wrong).await).code, Code::InvalidRequest);
    let change = InstallChange {
        poll_s: Some(60),
        overrides: Some(json!({ "mail": { "from": "me" } })),
        ..InstallChange::default()
    };
    let (install, warnings) = t.catalog.install_change(&t.app, "liz", change).await.unwrap();
    assert_eq!(warnings, []);
    assert_eq!((install.settings.poll_s, install.changed_by_hand.len()), (60, 0));
    let found = t.version(milepost_model::UnitKind::Config, "config", "latest").await.unwrap();
    assert_eq!(found.spec["document"], json!({ "n": 1, "mail": { "from": "me" } }));
}

async fn manual_changes_are_reported_until_the_next_upgrade(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.put([config("n", 5), secret("KEY", "x"), environment("mine", "python3")]).await;
    assert_eq!(t.install().await.changed_by_hand, ["config", "environment mine"]);
    t.upgraded("1.1.0", [config("n", 2)]).await;
    let install = t.install().await;
    assert!(install.changed_by_hand.is_empty(), "{:?}", install.changed_by_hand);
    // After a rollback too, manual changes are relative to the newest version.
    roll_back(t).await;
    assert!(t.install().await.changed_by_hand.is_empty());
}

async fn a_detached_app_stays_and_its_units_have_no_owner(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.catalog.install_detach(&t.app, "liz").await.unwrap();
    assert_eq!(refused(t.catalog.install_get(&t.app).await).code, Code::InstallNotFound);
    assert!(t.owners().await.is_empty());
    assert_eq!(t.present().await, ["config"]);
    t.put([config("n", 2)]).await;
    roll_back(t).await;
}

async fn a_manual_hold_and_a_skipped_version_are_lifted_separately(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.upgraded("1.1.0", [config("n", 2)]).await;
    roll_back(t).await;
    t.catalog
        .install_hold(&t.app, "liz", HoldInstall { reason: "freeze".into(), ..HoldInstall::default() })
        .await
        .unwrap();
    let one = LiftInstall { version: Some(semver("1.1.0")) };
    let lifted = t.catalog.install_lift(&t.app, "liz", one.clone()).await.unwrap();
    assert_eq!((lifted.brakes.skipped.len(), lifted.brakes.hold.unwrap().reason), (0, "freeze".to_owned()));
    assert_eq!(refused(t.catalog.install_lift(&t.app, "liz", one).await).code, Code::InvalidRequest);
}

async fn user_changes_during_a_fetch_are_not_undone_by_the_upgrade(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    t.upgraded("1.1.0", [config("n", 2)]).await;
    let late = || version("1.2.0", [config("n", 3)], &[]);
    let taken = t.take("one").await.unwrap();
    t.catalog.install_hold(&t.app, "liz", HoldInstall::default()).await.unwrap();
    assert_eq!(refused(t.upgrade(&taken, late()).await).code, Code::InstallBusy);
    t.let_go(&taken.lease).await;
    t.catalog.install_lift(&t.app, "liz", LiftInstall::default()).await.unwrap();
    let taken = t.take("two").await.unwrap();
    roll_back(t).await;
    assert_eq!(refused(t.upgrade(&taken, late()).await).code, Code::InstallBusy);
    let install = t.install().await;
    assert_eq!((install.entry, install.live), (entry("1.0.0"), Some(semver("1.0.0"))));
    assert!(install.brakes.hold.is_some() && install.next_check_at == Some(t.catalog.now()));
    t.let_go(&taken.lease).await;
    let taken = t.take("three").await.unwrap();
    let policy = InstallChange { poll_s: Some(60), ..InstallChange::default() };
    t.catalog.install_change(&t.app, "liz", policy).await.unwrap();
    assert_eq!(refused(t.upgrade(&taken, late()).await).code, Code::InstallBusy);
}

async fn times_from_a_wrong_clock_do_not_block_checks(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let taken = t.take("one").await.unwrap();
    let far = "2031-01-01T00:00:00Z".parse().unwrap();
    let record = CheckRecord { next_check_at: Some(far), revision: taken.revision, ..CheckRecord::default() };
    assert!(t.catalog.install_give_back(&taken.lease, record).await.unwrap());
    assert_eq!(t.catalog.installs_earliest(LEASE_MS).await.unwrap(), Some(t.catalog.now()));
    let due = |holder: &'static str| t.catalog.installs_take_due(holder, "watcher", LEASE_MS, 10);
    assert_eq!(due("two").await.unwrap().len(), 1);
    assert!(due("three").await.unwrap().is_empty(), "a lease holds");
    assert_eq!(t.catalog.installs_earliest(LEASE_MS).await.unwrap(), None);
    // The same for a lease: taken by a node whose clock is a year ahead.
    t.catalog.installs_end_leases().await.unwrap();
    t.catalog.install_take(&t.app, "ahead", "uma", 365 * 24 * 3_600_000).await.unwrap();
    assert_eq!(due("four").await.unwrap().len(), 1);
    t.catalog.installs_end_leases().await.unwrap();
    t.catalog.install_take(&t.app, "ahead", "uma", 365 * 24 * 3_600_000).await.unwrap();
    t.take("five").await.unwrap();
}

async fn a_new_key_resets_the_serial_even_during_a_check(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let taken = t.take("one").await.unwrap();
    let record = CheckRecord { serial: 7, revision: taken.revision, ..CheckRecord::default() };
    t.catalog.install_give_back(&taken.lease, record.clone()).await.unwrap();
    let taken = t.take("two").await.unwrap();
    assert_eq!(taken.serial, 7);
    let key = InstallChange { key: Some("another".into()), ..InstallChange::default() };
    t.catalog.install_change(&t.app, "liz", key).await.unwrap();
    t.catalog.install_give_back(&taken.lease, CheckRecord { serial: 8, ..record }).await.unwrap();
    assert_eq!(t.take("three").await.unwrap().serial, 0);
}

on_both_engines!(
    a_health_check_by_a_missing_function_is_rejected,
    user_changes_during_a_fetch_are_not_undone_by_the_upgrade,
    times_from_a_wrong_clock_do_not_block_checks,
    a_new_key_resets_the_serial_even_during_a_check,
    an_install_is_an_app_like_any_other,
    an_upgrade_removes_missing_units_but_keeps_secrets,
    an_install_without_its_inputs_is_rejected_and_lists_them,
    an_install_needs_an_empty_app,
    a_rollback_skips_the_version_and_holds_until_a_newer_one,
    a_dry_run_rollback_leaves_no_brakes,
    a_lasting_hold_can_be_lifted_and_the_same_version_comes_back,
    putting_a_release_live_by_hand_sets_the_installed_version,
    following_again_after_a_rollback_lifts_its_brakes,
    an_upgrade_keeps_a_manually_pinned_live_and_reports_it,
    a_manual_downgrade_is_a_rollback,
    an_install_has_one_holder_until_the_lease_ends,
    concurrent_servers_take_a_due_install_once,
    a_check_sets_the_next_time_unless_a_user_changed_the_install,
    settings_are_changed_as_a_whole_and_overrides_at_once,
    manual_changes_are_reported_until_the_next_upgrade,
    a_detached_app_stays_and_its_units_have_no_owner,
    a_manual_hold_and_a_skipped_version_are_lifted_separately,
);

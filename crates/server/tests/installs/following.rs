//! Installs that follow a channel: automatic upgrades, their times, and what persists.

use milepost_client::api::RollBack;
use milepost_model::channel::{HoldUntil, Windows};
use milepost_model::install::{
    CheckResult, InstallChange, InstallFrom, InstallMode, InstallSettings, LiftInstall, NewInstall,
};
use serde_json::json;

use crate::author::{Author, artifact, semver};
use crate::stage::{APP, Stage, at, following, refused};
use crate::web::Web;

const LONG_AGO: &str = "2026-11-01T00:00:00Z";

fn sundays() -> InstallSettings {
    InstallSettings {
        policy: "patch=immediate,minor=window,major=manual".parse().unwrap(),
        windows: Windows::new("Europe/Berlin", &["sun 02:00-04:00"], &[]).unwrap(),
        ..InstallSettings::default()
    }
}

async fn roll_back(stage: &Stage) {
    let back = RollBack { to: None, why: "it is broken".to_owned(), dry_run: false };
    stage.client.rollback(APP, &back).await.unwrap();
}

#[tokio::test]
async fn seed_case_patch_now_minor_on_sunday_major_manual() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.1.2", at(LONG_AGO));
    let installed = stage.follow(&author.url(), sundays()).await;
    assert_eq!((installed.from, installed.to), (None, Some(semver("1.1.2"))));
    assert!(installed.release.unwrap().live);
    for version in ["1.1.3", "1.2.3", "2.0.0"] {
        author.publish(version, at("2026-11-18T11:00:00Z"));
    }
    author.unpublish("1.1.2", false);
    let plan = stage.client.upgrade_plan(APP, &Default::default()).await.unwrap();
    assert_eq!(plan.forecast, "1.1.3 now, 1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you");
    assert_eq!(stage.version().await, "1.1.2", "a plan changes nothing");
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!(install.entry.version.as_str(), "1.1.3");
    assert_eq!(install.installed_by, "watcher");
    assert_eq!(install.plan.unwrap().forecast, "1.2.3 on Sunday 2026-11-22 02:00 Europe/Berlin, 2.0.0 waits for you");
    assert_eq!(install.last_check.unwrap().kind, "upgraded");
    // Nothing happens a minute before the window. The plan wakes the server when it opens.
    stage.go_to(at("2026-11-22T00:59:00Z"));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.1.3");
    assert_eq!(stage.next_due().await, Some(at("2026-11-22T01:00:00Z")));
    stage.go_to(at("2026-11-22T01:00:00Z"));
    assert_eq!(stage.run_due().await, 1);
    assert_eq!(stage.version().await, "1.2.3");
    assert_eq!(stage.config().await["version"], "1.2.3");
    assert_eq!(stage.status().await.plan.unwrap().forecast, "2.0.0 waits for you");
}

#[tokio::test]
async fn finds_patches_of_older_lines_although_latest_is_unchanged() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.1.2", at(LONG_AGO));
    stage.follow(&author.url(), InstallSettings::default()).await;
    author.publish("1.2.0", at("2026-11-17T00:00:00Z"));
    stage.poll().await;
    let before = std::fs::read(author.channel().join("latest")).unwrap();
    author.publish("1.1.3", at("2026-11-18T00:00:00Z"));
    assert_eq!(std::fs::read(author.channel().join("latest")).unwrap(), before);
    stage.poll().await;
    assert_eq!(stage.version().await, "1.1.3");
}

#[tokio::test]
async fn unpublished_version_is_replaced_at_once() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.1.2", at(LONG_AGO));
    let windows = InstallSettings { policy: "patch=window,minor=window".parse().unwrap(), ..sundays() };
    stage.follow(&author.url(), windows).await;
    author.publish("1.1.3", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.1.2", "on a Wednesday a patch waits");
    author.unpublish("1.1.2", false);
    stage.poll().await;
    assert_eq!(stage.version().await, "1.1.3");
}

#[tokio::test]
async fn pinned_install_never_checks_for_updates() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    author.publish("1.0.1", at(LONG_AGO));
    let web = Web::serve(author.root().to_owned()).await;
    let from = InstallFrom::Pinned {
        package: "acme/shop".parse().unwrap(),
        version: semver("1.0.0"),
        channel: Some(web.channel()),
        registry: None,
    };
    let new = NewInstall { from, ..following("", InstallSettings::default()) };
    stage.install(&new).await;
    web.requests();
    stage.clock.advance_ms(30 * 24 * 3_600_000);
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!((install.mode, install.next_check_at), (InstallMode::Pinned, None));
    assert_eq!((install.entry.version.as_str(), web.requests()), ("1.0.0", Vec::<String>::new()));
    // A user may request another version.
    refused(stage.upgrade(Default::default()).await, "upgrade_refused");
    let to = milepost_model::install::Upgrade { to: Some(semver("1.0.1")), ..Default::default() };
    assert_eq!(stage.upgrade(to).await.unwrap().to, Some(semver("1.0.1")));
    assert_eq!(stage.status().await.next_check_at, None);
}

#[tokio::test]
async fn first_install_needs_only_latest() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    author.put("all", b"{ half");
    stage.follow(&author.url(), InstallSettings::default()).await;
    assert_eq!(stage.version().await, "1.0.0");
    stage.run_due().await;
    assert_eq!(stage.last_check().await.result, CheckResult::Refused);
}

#[tokio::test]
async fn rollback_holds_until_a_newer_version() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    stage.follow(&author.url(), InstallSettings::default()).await;
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    roll_back(&stage).await;
    for _ in 0..3 {
        stage.clock.advance_ms(3_600_000);
        stage.poll().await;
    }
    let install = stage.status().await;
    assert_eq!((install.entry.version.as_str(), install.live), ("1.0.0", Some(semver("1.0.0"))));
    assert_eq!(install.brakes.hold.unwrap().until, HoldUntil::Above(semver("1.0.1")));
    assert_eq!(install.plan.unwrap().forecast, "1.0.1 is skipped");
    author.publish("1.0.2", at("2026-11-18T14:00:00Z"));
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!((install.entry.version.as_str(), install.live), ("1.0.2", Some(semver("1.0.2"))));
}

#[tokio::test]
async fn rollback_holds_until_lifted_if_configured() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let holds = milepost_model::install::RollbackHolds::UntilLifted;
    stage.follow(&author.url(), InstallSettings { rollback_holds: holds, ..InstallSettings::default() }).await;
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    roll_back(&stage).await;
    author.publish("1.0.2", at("2026-11-18T01:00:00Z"));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.0.0");
    stage.client.install_lift(APP, &LiftInstall::default()).await.unwrap();
    assert_eq!(stage.run_due().await, 1, "lifting it is reason to look");
    assert_eq!(stage.version().await, "1.0.2");
}

#[tokio::test]
async fn unhealthy_version_is_rolled_back_and_skipped() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    stage.follow(&author.url(), InstallSettings::default()).await;
    let health = InstallChange {
        health: Some("/nothing-is-there".to_owned()),
        health_deadline_s: Some(1),
        ..InstallChange::default()
    };
    stage.client.install_change(APP, &health).await.unwrap();
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!((install.entry.version.as_str(), install.live), ("1.0.0", Some(semver("1.0.0"))));
    assert_eq!(install.brakes.skipped, [semver("1.0.1")]);
    assert!(!install.on_trial);
    let check = install.last_check.unwrap();
    assert_eq!((check.result, check.kind.as_str()), (CheckResult::Refused, "unhealthy"));
    assert!(check.message.contains("1.0.1 was not healthy, so live stayed at 1.0.0"), "{}", check.message);
    assert!(check.message.contains("status 404"), "{}", check.message);
    assert_eq!(stage.events().await.iter().filter(|(kind, _)| kind == "live.moved").count(), 1, "users never got it");
    stage.poll().await;
    assert_eq!(stage.version().await, "1.0.0", "it is not tried again");
    let install = stage.status().await;
    assert_eq!(install.last_check.unwrap().kind, "planned");
    let failure = install.last_failure.unwrap();
    assert_eq!(failure.version, semver("1.0.1"));
    assert!(failure.reason.contains("status 404"), "{}", failure.reason);
}

#[tokio::test]
async fn overrides_survive_upgrades() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let overrides = json!({ "mail": { "from": "me" } });
    stage.follow(&author.url(), InstallSettings { overrides: overrides.clone(), ..InstallSettings::default() }).await;
    let mail = json!({ "from": "me", "to": "all" });
    assert_eq!(stage.config().await, json!({ "version": "1.0.0", "mail": mail }));
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    assert_eq!(stage.config().await, json!({ "version": "1.0.1", "mail": mail }));
    assert_eq!(stage.status().await.settings.overrides, overrides);
}

#[tokio::test]
async fn removing_an_override_restores_the_authors_value() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let overrides = json!({ "mail": { "from": "me" } });
    stage.follow(&author.url(), InstallSettings { overrides, ..InstallSettings::default() }).await;
    let gone = InstallChange { overrides: Some(json!({ "mail": null })), ..InstallChange::default() };
    let changed = stage.client.install_change(APP, &gone).await.unwrap();
    assert_eq!((changed.warnings, changed.install.changed_by_hand), (Vec::new(), Vec::new()));
    assert_eq!(stage.config().await["mail"], json!({ "from": "author", "to": "all" }));
}

#[tokio::test]
async fn unchanged_channel_costs_two_not_modified_responses() {
    for signed in [false, true] {
        let stage = Stage::new().await;
        let (mut author, key) = Author::signing();
        let key = signed.then_some(key);
        author.publish("1.0.0", at(LONG_AGO));
        let web = Web::serve(author.root().to_owned()).await;
        stage.follow(&web.channel(), InstallSettings { key, ..InstallSettings::default() }).await;
        stage.poll().await;
        web.answers();
        for _ in 0..2 {
            stage.poll().await;
            let file = |name: &str| (format!("/acme/shop/stable/{name}"), 304);
            assert_eq!(web.answers(), [file("latest"), file("all")], "signed: {signed}");
        }
        author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
        stage.poll().await;
        assert_eq!(stage.version().await, "1.0.1");
        // Unpublishing a version changes only the list, and with it the cached copy.
        author.publish("1.0.2", at("2026-11-18T00:00:00Z"));
        author.unpublish("1.0.1", false);
        stage.poll().await;
        assert_eq!(stage.version().await, "1.0.2");
    }
}

#[tokio::test]
async fn missing_inputs_are_required_and_given_ones_kept() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish_with("1.0.0", at(LONG_AGO), &artifact("1.0.0", &["DATABASE_URL", "KEY"]));
    let mut new = following(&author.url(), InstallSettings::default());
    let problem = refused(stage.client.install_create(&new).await, "missing_inputs");
    assert_eq!(problem.blockers, ["DATABASE_URL", "KEY"]);
    assert!(stage.client.app_get(APP).await.is_err(), "no app was left behind");
    let secret = |value: &str| milepost_model::unit_put::SecretPut { value: value.to_owned() };
    new.secrets.insert("DATABASE_URL".parse().unwrap(), secret("x"));
    new.secrets.insert("KEY".parse().unwrap(), secret("y"));
    new.secrets.insert("STRANGER".parse().unwrap(), secret("z"));
    refused(stage.client.install_create(&new).await, "invalid_request");
    new.secrets.remove(&"STRANGER".parse().unwrap());
    stage.install(&new).await;
    author.publish_with("1.0.1", at(LONG_AGO), &artifact("1.0.1", &["DATABASE_URL", "KEY"]));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.0.1", "what was given once is kept");
    author.publish_with("1.0.2", at(LONG_AGO), &artifact("1.0.2", &["KEY", "MAIL_TOKEN"]));
    stage.poll().await;
    let check = stage.last_check().await;
    assert_eq!((stage.version().await.as_str(), check.kind.as_str()), ("1.0.1", "missing_inputs"));
    assert!(check.message.contains("MAIL_TOKEN"), "{}", check.message);
    let asked = milepost_model::install::Upgrade {
        secrets: [("MAIL_TOKEN".parse().unwrap(), secret("t"))].into(),
        ..Default::default()
    };
    assert_eq!(stage.upgrade(asked).await.unwrap().to, Some(semver("1.0.2")));
}

#[tokio::test]
async fn manual_changes_are_reported_and_overwritten_by_upgrades() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    stage.follow(&author.url(), InstallSettings::default()).await;
    let put = json!({ "puts": [{ "name": "config", "kind": "config", "spec": { "set": { "version": "mine" } } }] });
    stage.client.change(APP, &serde_json::from_value(put).unwrap(), None).await.unwrap();
    assert_eq!(stage.status().await.changed_by_hand, ["config"]);
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    stage.poll().await;
    assert_eq!(
        (stage.config().await["version"].as_str(), stage.status().await.changed_by_hand.len()),
        (Some("1.0.1"), 0)
    );
}

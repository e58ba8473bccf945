//! User requests: manual upgrades, windows, and refusals.

use milepost_model::channel::Windows;
use milepost_model::install::{HoldInstall, InstallChange, InstallFrom, InstallSettings, NewInstall, Upgrade};

use crate::author::{Author, semver};
use crate::stage::{APP, Stage, at, following, refused};

const LONG_AGO: &str = "2026-11-01T00:00:00Z";

async fn installed(policy: &str, denies: &[&str]) -> (Stage, Author) {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let settings = InstallSettings {
        policy: policy.parse().unwrap(),
        windows: Windows::new("Europe/Berlin", &["sun 02:00-04:00"], denies).unwrap(),
        ..InstallSettings::default()
    };
    stage.follow(&author.url(), settings).await;
    (stage, author)
}

fn to(version: &str) -> Upgrade {
    Upgrade { to: Some(semver(version)), ..Upgrade::default() }
}

fn now() -> Upgrade {
    Upgrade { now: true, ..Upgrade::default() }
}

#[tokio::test]
async fn manual_upgrade_is_allowed_with_a_warning_for_major_updates() {
    let (stage, mut author) = installed("minor=window,major=manual", &[]).await;
    author.publish("1.1.0", at(LONG_AGO));
    author.publish("2.0.0", at(LONG_AGO));
    let plan = stage.client.upgrade_plan(APP, &Upgrade::default()).await.unwrap();
    assert_eq!(plan.asked, Some(semver("2.0.0")));
    assert!(plan.warnings[0].contains("2.0.0 is a major update"), "{:?}", plan.warnings);
    let done = stage.upgrade(Upgrade::default()).await.unwrap();
    assert_eq!((done.from, done.to), (Some(semver("1.0.0")), Some(semver("2.0.0"))));
    assert!(done.release.unwrap().live);
    assert_eq!(done.install.installed_by, "admin");
}

#[tokio::test]
async fn windows_apply_to_users_unless_forced_and_forcing_is_recorded() {
    let (stage, mut author) = installed("minor=window,major=never", &["wed"]).await;
    author.publish("1.1.0", at(LONG_AGO));
    author.publish("2.0.0", at(LONG_AGO));
    let done = stage.upgrade(Upgrade::default()).await.unwrap();
    assert_eq!((done.to, stage.version().await.as_str()), (None, "1.0.0"));
    let problem = refused(stage.upgrade(to("1.1.0")).await, "upgrade_refused");
    assert!(problem.detail.contains("Sunday 2026-11-22 02:00 Europe/Berlin"), "{problem:?}");
    assert!(!stage.events().await.iter().any(|(kind, _)| kind == "install.forced"));
    assert_eq!(stage.upgrade(now()).await.unwrap().to, Some(semver("1.1.0")));
    let forced: Vec<_> = stage.events().await.into_iter().filter(|(kind, _)| kind == "install.forced").collect();
    assert_eq!(forced, [("install.forced".to_owned(), "admin".to_owned())]);
    // Waiting does not help for what the policy never takes.
    let problem = refused(stage.upgrade(Upgrade { now: true, ..to("2.0.0") }).await, "upgrade_refused");
    assert!(problem.detail.contains("never takes major updates"), "{problem:?}");
}

#[tokio::test]
async fn deny_blocks_patches_unless_forced() {
    let (stage, mut author) = installed("patch=immediate", &["2026-11-18..2026-11-20"]).await;
    author.publish("1.0.1", at(LONG_AGO));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.0.0");
    let forecast = stage.status().await.plan.unwrap().forecast;
    assert_eq!(forecast, "1.0.1 on Saturday 2026-11-21 00:00 Europe/Berlin");
    assert_eq!(stage.upgrade(Upgrade::default()).await.unwrap().to, None);
    assert_eq!(stage.upgrade(now()).await.unwrap().to, Some(semver("1.0.1")));
}

#[tokio::test]
async fn plan_explains_a_deny_before_a_manual_upgrade() {
    let (stage, mut author) = installed("patch=manual", &["2026-11-18..2026-11-20"]).await;
    author.publish("1.0.1", at(LONG_AGO));
    let plan = stage.client.upgrade_plan(APP, &Upgrade::default()).await.unwrap();
    assert_eq!(plan.asked, None);
    let [warning] = plan.warnings.as_slice() else { panic!("{:?}", plan.warnings) };
    assert!(warning.contains("1.0.1 is not installed now: upgrades are denied until Saturday 2026-11-21"), "{warning}");
    assert!(warning.contains("`\"now\": true`"), "{warning}");
    let forced = stage.client.upgrade_plan(APP, &now()).await.unwrap();
    assert_eq!((forced.asked, forced.warnings), (Some(semver("1.0.1")), Vec::new()));
}

#[tokio::test]
async fn hold_blocks_users_until_lifted() {
    let (stage, mut author) = installed("patch=immediate", &[]).await;
    let hold = HoldInstall { reason: "sale".to_owned(), ..HoldInstall::default() };
    stage.client.install_hold(APP, &hold).await.unwrap();
    author.publish("1.0.1", at(LONG_AGO));
    stage.poll().await;
    assert_eq!(stage.upgrade(now()).await.unwrap().to, None);
    let problem = refused(stage.upgrade(to("1.0.1")).await, "upgrade_refused");
    assert!(problem.detail.contains("sale"), "{problem:?}");
    stage.client.install_lift(APP, &Default::default()).await.unwrap();
    stage.run_due().await;
    assert_eq!(stage.version().await, "1.0.1");
}

#[tokio::test]
async fn manual_downgrade_warns_and_is_not_undone() {
    let (stage, mut author) = installed("patch=immediate,minor=immediate", &[]).await;
    author.publish("1.1.0", at(LONG_AGO));
    stage.poll().await;
    let plan = stage.client.upgrade_plan(APP, &to("1.0.0")).await.unwrap();
    assert!(plan.warnings[0].contains("1.0.0 is below 1.1.0"), "{:?}", plan.warnings);
    assert_eq!(stage.upgrade(to("1.0.0")).await.unwrap().to, Some(semver("1.0.0")));
    stage.poll().await;
    assert_eq!((stage.version().await.as_str(), stage.status().await.brakes.skipped), ("1.0.0", vec![semver("1.1.0")]));
}

#[tokio::test]
async fn rejects_unknown_versions_and_suggests_existing_ones() {
    let (stage, mut author) = installed("patch=immediate", &[]).await;
    author.publish("1.0.1", at(LONG_AGO));
    let before = stage.status().await.last_check;
    let problem = refused(stage.upgrade(to("1.0.2")).await, "version_not_found");
    assert!(problem.hint.unwrap().contains("1.0.1"));
    assert_eq!(stage.status().await.last_check, before, "what a person mistypes is not the channel's fault");
    author.publish("1.0.9", at(LONG_AGO));
    author.unpublish("1.0.9", false);
    let problem = refused(stage.upgrade(to("1.0.9")).await, "version_not_found");
    assert!(problem.detail.contains("unpublished by its author"), "{problem:?}");
}

#[tokio::test]
async fn failed_first_install_has_a_usable_hint() {
    let stage = Stage::new().await;
    let new = following("ftp://example.com/shop", InstallSettings::default());
    let problem = refused(stage.client.install_create(&new).await, "channel_refused");
    assert_eq!(problem.detail, "`ftp://…` cannot be a channel");
    assert!(problem.hint.unwrap().contains("write `https://…`"));
}

#[tokio::test]
async fn second_install_needs_another_app_name() {
    let (stage, author) = installed("patch=immediate", &[]).await;
    let again = following(&author.url(), InstallSettings::default());
    refused(stage.client.install_create(&again).await, "install_exists");
    let other = milepost_model::install::NewInstall { app: Some("second".parse().unwrap()), ..again };
    stage.install(&other).await;
    let names: Vec<String> =
        stage.client.install_list(10, None).await.unwrap().items.iter().map(|one| one.app.to_string()).collect();
    assert_eq!(names, ["second", "shop"]);
}

#[tokio::test]
async fn rejects_invalid_settings_and_applies_a_new_policy_at_once() {
    let (stage, mut author) = installed("minor=manual", &[]).await;
    let often = InstallChange { poll_s: Some(0), ..InstallChange::default() };
    refused(stage.client.install_change(APP, &often).await, "invalid_request");
    author.publish("1.1.0", at(LONG_AGO));
    stage.poll().await;
    assert_eq!(stage.version().await, "1.0.0");
    let policy = Some("minor=immediate".parse().unwrap());
    stage.client.install_change(APP, &InstallChange { policy, ..InstallChange::default() }).await.unwrap();
    stage.run_due().await;
    assert_eq!(stage.version().await, "1.1.0");
}

#[tokio::test]
async fn rejects_urls_with_credentials_and_paths_outside_channels() {
    let stage = Stage::new().await;
    let urls = [
        "https://me:secret@example.com/shop/stable",
        "https://example.com/acme/shop/stable?token=secret",
        "/channels/../../etc/stable",
        "/channels/shop",
    ];
    for url in urls {
        let new = following(url, InstallSettings::default());
        let problem = refused(stage.client.install_create(&new).await, "invalid_request");
        assert!(!problem.detail.contains("secret"), "{problem:?}");
    }
}

#[tokio::test]
async fn rejects_useless_and_invalid_keys() {
    let (stage, _author) = installed("patch=immediate", &[]).await;
    let key = Some(Author::signing().1);
    let from = InstallFrom::Pinned {
        package: "acme/shop".parse().unwrap(),
        version: semver("1.0.0"),
        channel: None,
        registry: Some("registry.example.com/acme/shop".to_owned()),
    };
    let settings = InstallSettings { key: key.clone(), ..InstallSettings::default() };
    let new = NewInstall { app: Some("second".parse().unwrap()), from, secrets: Default::default(), settings };
    let problem = refused(stage.client.install_create(&new).await, "invalid_request");
    assert!(problem.detail.contains("has no signature"), "{problem:?}");
    let no_key = InstallChange { key: Some("nonsense".to_owned()), ..InstallChange::default() };
    refused(stage.client.install_change(APP, &no_key).await, "invalid_request");
    assert_eq!(stage.status().await.settings.key, None);
    let change = InstallChange { key: key.clone(), ..InstallChange::default() };
    assert_eq!(stage.client.install_change(APP, &change).await.unwrap().install.settings.key, key);
}

#[tokio::test]
async fn unhealthy_first_version_is_reported() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let health = Some("/nothing-is-there".parse().unwrap());
    let settings = InstallSettings { health, health_deadline_s: 1, ..InstallSettings::default() };
    let done = stage.follow(&author.url(), settings).await;
    assert!(done.went_back.unwrap().contains("nothing to go back to"));
    assert_eq!(stage.run_due().await, 0);
    assert_eq!(stage.last_check().await.kind, "unhealthy");
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!((install.last_check.unwrap().kind.as_str(), install.live), ("current", Some(semver("1.0.0"))));
    assert_eq!(install.last_failure.unwrap().version, semver("1.0.0"), "it is still shown");
}

#[tokio::test]
async fn rejects_a_version_without_its_health_function() {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at(LONG_AGO));
    let health = Some("function:check".parse().unwrap());
    let new = following(&author.url(), InstallSettings { health, ..InstallSettings::default() });
    let problem = refused(stage.client.install_create(&new).await, "unit_not_found");
    assert!(problem.detail.contains("acme/shop 1.0.0 has no function `check`"), "{problem:?}");
    assert!(stage.client.app_get(APP).await.is_err(), "no app was left behind");
}

#[tokio::test]
async fn interrupted_trial_ends_before_a_manual_upgrade() {
    let (stage, mut author) = installed("patch=immediate,minor=immediate", &[]).await;
    let waiting = |seconds: u32| InstallChange {
        health: Some("/nothing-is-there".to_owned()),
        health_deadline_s: Some(seconds),
        ..InstallChange::default()
    };
    stage.client.install_change(APP, &waiting(60)).await.unwrap();
    author.publish("1.0.1", at(LONG_AGO));
    let tried = async {
        while !stage.status().await.on_trial {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = stage.poll() => panic!("the trial takes a minute"),
        () = tried => {}
    }
    // The node that ran the trial is gone, and its lease expires.
    stage.clock.advance_ms(200_000);
    stage.client.install_change(APP, &waiting(1)).await.unwrap();
    author.publish("1.1.0", at(LONG_AGO));
    let problem = refused(stage.upgrade(to("1.1.0")).await, "upgrade_refused");
    assert!(problem.detail.contains("1.0.1 was not healthy, so live stayed at 1.0.0"), "{problem:?}");
    let install = stage.status().await;
    assert_eq!((install.entry.version.as_str(), install.on_trial), ("1.0.0", false));
    assert_eq!(install.brakes.skipped, [semver("1.0.1")]);
    assert_eq!(install.last_check.unwrap().kind, "unhealthy");
}

#[tokio::test]
async fn detached_app_is_not_upgraded() {
    let (stage, mut author) = installed("patch=immediate", &[]).await;
    stage.client.install_detach(APP).await.unwrap();
    author.publish("1.0.1", at(LONG_AGO));
    assert_eq!(stage.poll().await, 0);
    refused(stage.client.install_get(APP).await, "install_not_found");
    assert_eq!(stage.config().await["version"], "1.0.0");
}

//! Versions on trial whose health cannot be checked.

use milepost_model::PlanName;
use milepost_model::install::{
    CheckResult, InstallChange, InstallFrom, InstallMode, InstallSettings, NewInstall, Upgrade,
};

use crate::author::{Author, semver};
use crate::stage::{APP, Stage, at, following};

/// 1.0.1 is on trial after 1.0.0, and the node that ran the trial is gone.
async fn on_trial(mode: InstallMode) -> (Stage, Author) {
    let (stage, mut author) = (Stage::new().await, Author::new());
    author.publish("1.0.0", at("2026-11-01T00:00:00Z"));
    let mut new = following(&author.url(), InstallSettings::default());
    if mode == InstallMode::Pinned {
        let (package, version) = ("acme/shop".parse().unwrap(), semver("1.0.0"));
        let from = InstallFrom::Pinned { package, version, channel: Some(author.url()), registry: None };
        new = NewInstall { from, ..new };
    }
    stage.install(&new).await;
    stage.client.app_set_plan(APP, PlanName::Free).await.unwrap();
    asked_for(&stage, 60).await;
    author.publish("1.0.1", at("2026-11-18T00:00:00Z"));
    let upgrade = async {
        if mode == InstallMode::Pinned {
            let to = Upgrade { to: Some(semver("1.0.1")), ..Upgrade::default() };
            stage.upgrade(to).await.unwrap();
        } else {
            stage.poll().await;
        }
    };
    let tried = async {
        while !stage.status().await.on_trial {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = upgrade => panic!("the trial takes a minute"),
        () = tried => {}
    }
    stage.clock.advance_ms(200_000);
    asked_for(&stage, 1).await;
    (stage, author)
}

/// Configures a health check that never passes.
async fn asked_for(stage: &Stage, seconds: u32) {
    let change = InstallChange {
        health: Some("/nothing-is-there".to_owned()),
        health_deadline_s: Some(seconds),
        ..InstallChange::default()
    };
    stage.client.install_change(APP, &change).await.unwrap();
}

async fn a_full_plan_says_nothing(mode: InstallMode) {
    let (stage, _author) = on_trial(mode).await;
    // The plan has room for three releases. Live uses one, and these use the others permanently.
    let why = || "it is kept".to_owned();
    let old = stage.client.release_get(APP, "live").await.unwrap().app_version;
    for tag in ["one", "two"] {
        let made = stage.client.release_create(APP, Some(old.clone()), why(), true).await.unwrap().release;
        stage.client.tag_set(APP, tag, &made.id, why()).await.unwrap();
    }
    stage.poll().await;
    let install = stage.status().await;
    assert_eq!(install.mode, mode);
    let check = install.last_check.unwrap();
    assert_eq!((check.result, check.kind.as_str()), (CheckResult::Refused, "no_room"), "{}", check.message);
    assert_eq!((install.entry.version, install.live), (semver("1.0.1"), Some(semver("1.0.0"))));
    assert!(install.on_trial && install.last_failure.is_none() && install.brakes.skipped.is_empty());
    assert!(install.next_check_at.is_some_and(|next| next > stage.now()), "it is tried again");

    stage.client.tag_delete(APP, "one").await.unwrap();
    assert_eq!(stage.poll().await, 1);
    let install = stage.status().await;
    assert_eq!(install.last_check.unwrap().kind, "unhealthy", "now it could be asked");
    assert_eq!((install.on_trial, install.brakes.skipped), (false, vec![semver("1.0.1")]));
}

#[tokio::test]
async fn full_plan_does_not_make_a_trial_unhealthy() {
    a_full_plan_says_nothing(InstallMode::Channel).await;
}

#[tokio::test]
async fn full_plan_delays_the_trial_of_a_pinned_install() {
    a_full_plan_says_nothing(InstallMode::Pinned).await;
}

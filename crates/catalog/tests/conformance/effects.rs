use milepost_catalog::{Effects, LiveTarget, RollbackInput, VersionsToDelete};
use milepost_model::change::Change;
use milepost_model::install::InstallSettings;
use milepost_model::{Digest, Role, UnitKind};

use crate::common::*;

fn served(t: &Fixture) -> Effects {
    Effects { app: Some(t.app.clone()), serving: true, ..Effects::default() }
}

fn live_moved(t: &Fixture) -> Effects {
    Effects { timers: true, ..served(t) }
}

fn nothing(t: &Fixture) -> Effects {
    Effects { serving: false, ..served(t) }
}

async fn a_move_of_a_pointer_affects_what_is_served(t: &Fixture) {
    let catalog = &t.catalog.0;
    let first = t.put([config("n", 1)]).await.release.unwrap().id;
    let change = catalog.change(&t.app, input(change([config("n", 2)]))).await.unwrap();
    assert_eq!(change.split().1, live_moved(t), "live follows");
    let tag = catalog.tag_set(&t.app, "tom", "beta".parse().unwrap(), first.clone(), String::new()).await.unwrap();
    assert_eq!(tag.split().1, served(t));
    let target = LiveTarget::Release(first);
    let live = catalog.live_set(&t.app, "liv", target, String::new()).await.unwrap();
    assert_eq!(live.split().1, live_moved(t));
    let quiet = Change { release: false, ..change_of(3) };
    assert_eq!(catalog.change(&t.app, input(quiet)).await.unwrap().split().1, nothing(t), "no release has it");
    let deleted = catalog.app_delete(&t.app, "ann").await.unwrap();
    assert_eq!(deleted.split().1, Effects { tokens: true, ..live_moved(t) });
}

fn change_of(n: i64) -> Change {
    change([config("n", n)])
}

async fn a_dry_run_has_no_effects(t: &Fixture) {
    let catalog = &t.catalog.0;
    t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
    let dry = Change { dry_run: true, ..change_of(1) };
    assert_eq!(catalog.change(&t.app, input(dry)).await.unwrap().split().1, Effects::default());
    let back = RollbackInput { to: None, why: String::new(), dry_run: true };
    assert_eq!(catalog.rollback(&t.app, "rob", back.clone()).await.unwrap().split().1, Effects::default());
    let (function, which) = (key(UnitKind::Function, "hello"), VersionsToDelete::One("1".parse().unwrap()));
    let delete = catalog.version_delete(&t.app, "dan", function, which, true).await.unwrap();
    assert_eq!(delete.split().1, Effects::default());
    let back = catalog.rollback(&t.app, "rob", RollbackInput { dry_run: false, ..back }).await.unwrap();
    assert_eq!(back.split().1, live_moved(t));
}

/// Another node may have made the same write just before, which this one has not seen yet.
async fn a_write_that_finds_nothing_to_do_is_shown_too(t: &Fixture) {
    let catalog = &t.catalog.0;
    let release = t.put([config("n", 1)]).await.release.unwrap().id;
    // Live stays where it is: only its mode is another.
    for expected in [nothing(t), Effects::seen(t.app.clone())] {
        let target = LiveTarget::Release(release.clone());
        let live = catalog.live_set(&t.app, "liv", target, String::new()).await.unwrap();
        assert_eq!(live.split().1, expected);
    }
    for expected in [served(t), Effects::seen(t.app.clone())] {
        let tag = "beta".parse().unwrap();
        let tagged = catalog.tag_set(&t.app, "tom", tag, release.clone(), String::new()).await.unwrap();
        assert_eq!(tagged.split().1, expected);
    }
    let keyed = |key: &str| {
        let mut input = input(change_of(2));
        input.idempotency_key = Some(key.to_owned());
        input
    };
    t.catalog.live_set(&t.app, "liv", LiveTarget::Follow, String::new()).await.unwrap();
    assert_eq!(catalog.change(&t.app, keyed("k")).await.unwrap().split().1, live_moved(t));
    assert_eq!(catalog.change(&t.app, keyed("k")).await.unwrap().split().1, Effects::seen(t.app.clone()));
}

async fn other_writes_affect_only_their_own(t: &Fixture) {
    let catalog = &t.catalog.0;
    t.deploy("hello", "one").await;
    let job = catalog.job_create(&t.app, "joe", new_job("hello", "latest", "* * * * *")).await.unwrap();
    let (job, effects) = job.split();
    assert_eq!(effects, Effects { timers: true, ..nothing(t) });
    assert_eq!(catalog.job_delete(&t.app, "joe", job.id).await.unwrap().split().1, nothing(t));
    let token = catalog.token_create("ci".to_owned(), Digest::of(b"x"), Role::Reader, None, "ann").await.unwrap();
    let tokens = Effects { tokens: true, ..Effects::default() };
    assert_eq!(token.split().1, tokens);
    assert_eq!(catalog.token_delete("ci".to_owned()).await.unwrap().split().1, tokens);
}

async fn an_install_is_looked_at_again_after_its_settings_change(t: &Fixture) {
    t.installed(InstallSettings::default(), "1.0.0", [config("n", 1)]).await;
    let hold = milepost_model::install::HoldInstall::default();
    let held = t.catalog.0.install_hold(&t.app, "liz", hold).await.unwrap();
    assert_eq!(held.split().1, Effects { installs: true, ..nothing(t) });
}

on_both_engines!(
    a_move_of_a_pointer_affects_what_is_served,
    a_dry_run_has_no_effects,
    a_write_that_finds_nothing_to_do_is_shown_too,
    other_writes_affect_only_their_own,
    an_install_is_looked_at_again_after_its_settings_change,
);

//! Timers fire for the live release, and a move of live neither repeats nor loses a tick.

use milepost_catalog::{LiveTarget, RollbackInput};
use milepost_model::change::Change;
use milepost_model::execution::CauseKind;
use milepost_model::{Timestamp, UnitKind};

use crate::common::*;

const MINUTE: i64 = 60_000;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

async fn set_live(t: &Fixture, target: LiveTarget) {
    t.catalog.live_set(&t.app, "liz", target, String::new()).await.unwrap();
}

async fn fire_at(t: &Fixture, time: &str) -> u64 {
    t.clock.advance_ms(at(time).as_millisecond() - t.catalog.now().as_millisecond());
    t.catalog.fire_due(100).await.unwrap().executions
}

async fn ticks(t: &Fixture) -> Vec<String> {
    t.executions().await.iter().map(|one| one.scheduled_at.unwrap().to_string()).collect()
}

async fn a_timer_runs_the_version_in_the_live_release(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await.release.unwrap().id;
    assert_eq!(t.catalog.earliest_due().await.unwrap(), Some(at("2030-01-01T00:10:00Z")));
    set_live(t, LiveTarget::Release(first)).await;
    t.deploy("hello", "two").await;
    assert_eq!(fire_at(t, "2030-01-01T00:10:00Z").await, 1);
    let execution = t.executions().await.remove(0);
    assert_eq!((execution.cause.kind, execution.cause.id.as_deref()), (CauseKind::Timer, Some("often")));
    assert_eq!(execution.scheduled_at, Some(at("2030-01-01T00:10:00Z")));
    set_live(t, LiveTarget::Follow).await;
    assert_eq!(fire_at(t, "2030-01-01T00:20:00.250Z").await, 1);
    assert_eq!(t.ran().await, [Some(1), Some(2)]);
    assert_eq!(ticks(t).await, ["2030-01-01T00:10:00Z", "2030-01-01T00:20:00Z"]);
}

async fn aliases_are_followed_and_pins_stay(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    let aliased = timer_at("aliased", "*/10 * * * *", "hello", "@stable");
    t.put([aliased, timer_at("pinned", "*/10 * * * *", "hello", "1")]).await;
    t.deploy("hello", "two").await;
    t.alias("hello", "stable", "2").await;
    assert_eq!(fire_at(t, "2030-01-01T00:10:00Z").await, 2);
    let mut ran: Vec<(String, i64, String)> = t
        .executions()
        .await
        .into_iter()
        .map(|one| (one.cause.id.unwrap(), one.version.unwrap().number, one.selector.to_string()))
        .collect();
    ran.sort();
    assert_eq!(ran, [("aliased".into(), 2, "@stable".into()), ("pinned".into(), 1, "1".into())]);
}

async fn moving_live_keeps_the_next_firing_time(t: &Fixture) {
    t.deploy("hello", "one").await;
    let one = t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await.release.unwrap().id;
    t.deploy("hello", "two").await;
    // The tick is due but not fired yet, and live moves back and forth.
    t.clock.advance_ms(10 * MINUTE);
    for _ in 0..3 {
        set_live(t, LiveTarget::Release(one.clone())).await;
        set_live(t, LiveTarget::Follow).await;
    }
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 0, "the first move did");
    set_live(t, LiveTarget::Release(one)).await;
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 0, "it fired already");
    assert_eq!(t.catalog.earliest_due().await.unwrap(), Some(at("2030-01-01T00:20:00Z")));
    assert_eq!(ticks(t).await, ["2030-01-01T00:10:00Z"]);
}

async fn a_new_schedule_counts_from_now_and_a_removed_timer_does_not_fire(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    t.clock.advance_ms(10 * MINUTE);
    t.put([timer_at("often", "*/15 * * * *", "hello", "latest")]).await;
    assert_eq!(t.catalog.earliest_due().await.unwrap(), Some(at("2030-01-01T00:15:00Z")));
    t.remove(UnitKind::Timer, "often").await.unwrap();
    assert_eq!((t.catalog.earliest_due().await.unwrap(), t.count("timers").await), (None, 0));
    let input = RollbackInput { to: None, why: String::new(), dry_run: false };
    t.catalog.rollback(&t.app, "liz", input).await.unwrap();
    assert_eq!(t.catalog.earliest_due().await.unwrap(), Some(at("2030-01-01T00:15:00Z")));
    assert_eq!(ticks(t).await, ["2030-01-01T00:10:00Z"], "what was due when the schedule changed");
}

async fn a_tick_that_is_due_when_live_moves_runs_the_former_live(t: &Fixture) {
    t.deploy("hello", "one").await;
    let often = t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await.release.unwrap().id;
    t.deploy("hello", "two").await;
    let rarely = t.put([timer_at("often", "0 * * * *", "hello", "latest")]).await.release.unwrap().id;
    let without = t.remove(UnitKind::Timer, "often").await.unwrap().release.unwrap().id;
    set_live(t, LiveTarget::Release(often.clone())).await;
    // Each time the tick is due, and live moves before it fires.
    t.clock.advance_ms(10 * MINUTE);
    set_live(t, LiveTarget::Release(rarely)).await;
    assert_eq!((ticks(t).await, t.ran().await), (vec!["2030-01-01T00:10:00Z".to_owned()], vec![Some(1)]));
    t.clock.advance_ms(50 * MINUTE);
    set_live(t, LiveTarget::Release(without)).await;
    assert_eq!(ticks(t).await, ["2030-01-01T00:10:00Z", "2030-01-01T01:00:00Z"]);
    assert_eq!(t.ran().await, [Some(1), Some(2)]);
    assert_eq!(t.catalog.earliest_due().await.unwrap(), None);
    set_live(t, LiveTarget::Release(often)).await;
    assert_eq!(fire_at(t, "2030-01-01T01:10:00Z").await, 1);
    assert_eq!(ticks(t).await.len(), 3);
}

async fn listed_timers_are_those_of_the_live_release(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await.release.unwrap().id;
    set_live(t, LiveTarget::Release(first.clone())).await;
    t.put([timer_at("often", "0 * * * *", "hello", "latest"), timer_at("other", "@daily", "hello", "1")]).await;
    let shown = t.catalog.live_timers(&t.app).await.unwrap();
    assert_eq!(shown.release, Some(first));
    let [timer] = shown.items.as_slice() else { panic!("{shown:?}") };
    assert_eq!((timer.name.as_str(), timer.cron.as_str()), ("often", "*/10 * * * *"));
    assert_eq!((timer.number, timer.version), (1, Some(1)), "the timer's own version, and the function's");
    assert_eq!(timer.next_at, Some(at("2030-01-01T00:10:00Z")));
    set_live(t, LiveTarget::Follow).await;
    let names = |shown: milepost_model::timer::LiveTimers| shown.items.into_iter().map(|one| one.name.to_string());
    let shown: Vec<String> = names(t.catalog.live_timers(&t.app).await.unwrap()).collect();
    assert_eq!(shown, ["often", "other"]);
}

async fn dry_runs_and_unreleased_changes_do_not_affect_timers(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    let before = t.catalog.earliest_due().await.unwrap();
    let every = |minutes: i64| change([timer_at("often", &format!("*/{minutes} * * * *"), "hello", "latest")]);
    t.send(Change { dry_run: true, ..every(1) }).await.unwrap();
    t.send(Change { release: false, ..every(2) }).await.unwrap();
    let input = RollbackInput { to: None, why: String::new(), dry_run: true };
    t.catalog.rollback(&t.app, "liz", input).await.unwrap();
    assert_eq!(t.catalog.earliest_due().await.unwrap(), before);
    t.catalog.release_create(&t.app, "x", None, String::new()).await.unwrap();
    assert!(t.catalog.earliest_due().await.unwrap() < before);
}

async fn deleting_the_live_version_reverts_its_timers(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    t.deploy("hello", "two").await;
    t.delete(UnitKind::Function, "hello", "2").await.unwrap();
    assert_eq!(fire_at(t, "2030-01-01T00:10:00Z").await, 1);
    assert_eq!(t.ran().await, [Some(1)]);
}

async fn after_downtime_the_newest_tick_runs_once(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    assert_eq!(fire_at(t, "2030-01-01T05:05:00Z").await, 1);
    assert_eq!(ticks(t).await, ["2030-01-01T05:00:00Z"]);
    assert_eq!(fire_at(t, "2030-01-01T05:10:00Z").await, 1);
}

async fn ticks_that_are_caught_up_on_together_run_in_order(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("slow", "@every 7s", "hello", "latest"), timer_at("often", "@every 1s", "hello", "latest")]).await;
    t.clock.advance_ms(106_000);
    assert!(t.catalog.fire_due(100).await.unwrap().executions > 60);
    let made = ticks(t).await;
    let mut sorted = made.clone();
    sorted.sort();
    assert_eq!(made, sorted);
}

async fn a_tick_that_was_written_is_not_written_again(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    assert_eq!(fire_at(t, "2030-01-01T00:10:00Z").await, 1);
    // Even if the row is set back, the tick already has its execution.
    let due = at("2030-01-01T00:10:00Z").as_millisecond();
    t.number(&format!("UPDATE timers SET next_at = {due} RETURNING unit_id")).await;
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 0);
    assert_eq!(t.catalog.earliest_due().await.unwrap(), Some(at("2030-01-01T00:20:00Z")));
}

async fn databases_from_before_timers_fired_get_their_rows(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    let before = t.catalog.earliest_due().await.unwrap();
    t.number("DELETE FROM timers RETURNING unit_id").await;
    t.reopen().await;
    assert_eq!(t.catalog.earliest_due().await.unwrap(), None, "it is done once");
    t.number("DELETE FROM server_facts WHERE name = 'timers' RETURNING CAST(1 AS BIGINT)").await;
    t.reopen().await;
    assert_eq!(t.catalog.earliest_due().await.unwrap(), before);
}

on_both_engines!(
    a_timer_runs_the_version_in_the_live_release,
    aliases_are_followed_and_pins_stay,
    moving_live_keeps_the_next_firing_time,
    a_new_schedule_counts_from_now_and_a_removed_timer_does_not_fire,
    a_tick_that_is_due_when_live_moves_runs_the_former_live,
    listed_timers_are_those_of_the_live_release,
    dry_runs_and_unreleased_changes_do_not_affect_timers,
    deleting_the_live_version_reverts_its_timers,
    after_downtime_the_newest_tick_runs_once,
    ticks_that_are_caught_up_on_together_run_in_order,
    a_tick_that_was_written_is_not_written_again,
    databases_from_before_timers_fired_get_their_rows,
);

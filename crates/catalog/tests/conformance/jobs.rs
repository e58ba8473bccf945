//! Jobs: creation, changes and firing.

use milepost_catalog::Fired;
use milepost_model::execution::{CauseKind, ExecutionFilter, ExecutionStatus};
use milepost_model::job::{JobChange, JobState, NewJob};
use milepost_model::{Code, Timestamp, UnitKind};
use serde_json::json;

use crate::common::facts::RefusalFacts;
use crate::common::*;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Waits until the earliest job is due and fires.
async fn fire_next(t: &Fixture) -> Fired {
    let next = t.catalog.earliest_due().await.unwrap().unwrap();
    t.clock.advance_ms((next.as_millisecond() - t.catalog.now().as_millisecond()).max(0));
    t.catalog.fire_due(100).await.unwrap()
}

async fn a_job_fires_until_its_count_is_used_up(t: &Fixture) {
    t.deploy("hello", "one").await;
    let new = NewJob {
        count: Some(2),
        input: Some(json!([1]).into()),
        name: "often".into(),
        ..new_job("hello", "latest", "*/5 * * * *")
    };
    let job = t.job(new).await;
    assert_eq!((job.state, job.next_at), (JobState::Running, Some(at("2030-01-01T00:05:00Z"))));
    assert_eq!(t.catalog.fire_due(100).await.unwrap(), Fired::default());
    for tick in ["2030-01-01T00:05:00Z", "2030-01-01T00:10:00Z"] {
        assert_eq!(fire_next(t).await.executions, 1);
        let execution = t.executions().await.pop().unwrap();
        assert_eq!((execution.scheduled_at, execution.input), (Some(at(tick)), Some(json!([1]).into())));
        assert_eq!((execution.cause.kind, execution.cause.id), (CauseKind::Job, Some(job.id.clone())));
        assert_eq!(execution.cause.name.as_deref(), Some("often"));
        assert_eq!(execution.description, format!("Created by Job {}", job.id));
        assert_eq!((execution.started_by.as_str(), execution.status), ("joe", ExecutionStatus::Queued));
        assert_eq!(t.catalog.fire_due(100).await.unwrap().rows, 0, "a tick fires once");
    }
    let done = t.catalog.job_get(&t.app, job.id.clone()).await.unwrap();
    assert_eq!((done.state, done.count, done.fired, done.next_at), (JobState::Done, Some(0), 2, None));
    assert_eq!(t.catalog.earliest_due().await.unwrap(), None);
    let change = JobChange { name: Some("x".into()), ..JobChange::default() };
    assert_eq!(refused(t.catalog.job_update(&t.app, "x", job.id.clone(), change).await).code, Code::JobFinished);
    let by_job = ExecutionFilter { cause: Some(CauseKind::Job), cause_id: Some(job.id), ..ExecutionFilter::default() };
    assert_eq!(t.executions_where(by_job).await.len(), 2);
}

async fn an_alias_is_resolved_at_each_firing(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    t.job(new_job("hello", "@stable", "* * * * *")).await;
    fire_next(t).await;
    t.deploy("hello", "two").await;
    t.alias("hello", "stable", "2").await;
    fire_next(t).await;
    assert_eq!(t.ran().await, [Some(1), Some(2)]);
}

async fn jobs_on_latest_follow_the_code_and_pinned_jobs_do_not(t: &Fixture) {
    t.deploy("hello", "one").await;
    let pinned = t.job(new_job("hello", "1", "* * * * *")).await;
    let latest = t.job(new_job("hello", "latest", "* * * * *")).await;
    assert_eq!((pinned.version, latest.version), (Some(1), None));
    t.deploy("hello", "two").await;
    fire_next(t).await;
    let mut ran = t.ran().await;
    ran.sort_unstable();
    assert_eq!(ran, [Some(1), Some(2)]);
}

async fn a_job_fires_at_times_of_its_pattern_after_its_first_time(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first_at = Some(at("2030-01-01T00:07:30Z"));
    let with_pattern = t.job(NewJob { first_at, ..new_job("hello", "latest", "*/5 * * * *") }).await;
    let once = t.job(NewJob { first_at, cron: None, ..new_job("hello", "latest", "") }).await;
    assert_eq!((with_pattern.count, once.count, once.next_at), (None, Some(1), first_at));
    let ten_past = Some(at("2030-01-01T00:10:00Z"));
    assert_eq!((with_pattern.first_at, with_pattern.next_at), (ten_past, ten_past));
    assert_eq!(fire_next(t).await.executions, 1);
    assert_eq!(t.catalog.job_get(&t.app, once.id).await.unwrap().state, JobState::Done);
    let waiting = t.catalog.job_get(&t.app, with_pattern.id.clone()).await.unwrap();
    assert_eq!((waiting.fired, waiting.next_at), (0, ten_past));
    t.clock.advance_ms(3 * MINUTE);
    assert_eq!(fire_next(t).await.executions, 1);
    let after = t.catalog.job_get(&t.app, with_pattern.id).await.unwrap();
    assert_eq!((after.state, after.next_at), (JobState::Running, Some(at("2030-01-01T00:15:00Z"))));
}

async fn a_paused_job_does_not_fire_and_resumes_from_now(t: &Fixture) {
    t.deploy("hello", "one").await;
    let job = t.job(new_job("hello", "latest", "* * * * *")).await;
    let set = async |state| {
        let change = JobChange { state: Some(state), ..JobChange::default() };
        t.catalog.job_update(&t.app, "joe", job.id.clone(), change).await
    };
    assert_eq!(set(JobState::Paused).await.unwrap().next_at, None);
    t.clock.advance_ms(10 * MINUTE);
    assert_eq!(t.catalog.fire_due(100).await.unwrap(), Fired::default());
    let running = set(JobState::Running).await.unwrap();
    assert!(running.next_at.unwrap() > t.catalog.now());
    assert_eq!(refused(set(JobState::Done).await).code, Code::InvalidRequest);
    assert_eq!(set(JobState::Cancelled).await.unwrap().next_at, None);
    assert_eq!(refused(set(JobState::Running).await).code, Code::JobFinished);
    assert_eq!(t.count("executions").await, 0);
    let kinds: Vec<String> = t.events().await.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("job.")).count(), 4);
}

async fn a_new_pattern_counts_from_now_and_other_fields_stay(t: &Fixture) {
    t.deploy("hello", "one").await;
    let job = t.job(NewJob { input: Some(json!(1).into()), ..new_job("hello", "latest", "0 3 * * *") }).await;
    let change = JobChange { cron: Some("*/10 * * * *".into()), count: Some(5), ..JobChange::default() };
    let changed = t.catalog.job_update(&t.app, "joe", job.id.clone(), change).await.unwrap();
    assert_eq!((changed.next_at, changed.count), (Some(at("2030-01-01T00:10:00Z")), Some(5)));
    assert_eq!((changed.input, changed.updated_at), (Some(json!(1).into()), Some(t.catalog.now())));
    let wrong = JobChange { cron: Some("every day".into()), ..JobChange::default() };
    assert_eq!(refused(t.catalog.job_update(&t.app, "joe", job.id.clone(), wrong).await).code, Code::InvalidSpec);
    let none = JobChange { count: Some(0), ..JobChange::default() };
    assert_eq!(refused(t.catalog.job_update(&t.app, "joe", job.id.clone(), none).await).code, Code::InvalidRequest);
    assert_eq!(
        t.catalog.job_get(&t.app, job.id.clone()).await.unwrap(),
        t.catalog.job_list(&t.app, None, 10).await.unwrap().items[0]
    );
    t.catalog.job_delete(&t.app, "joe", job.id.clone()).await.unwrap();
    assert_eq!(refused(t.catalog.job_get(&t.app, job.id).await).code, Code::JobNotFound);
}

async fn invalid_jobs_are_rejected(t: &Fixture) {
    t.deploy("hello", "one").await;
    let good = new_job("hello", "latest", "* * * * *");
    let first_at = Some(at("2031-01-01T00:00:00Z"));
    for (new, code) in [
        (NewJob { cron: None, ..good.clone() }, Code::InvalidRequest),
        (NewJob { cron: None, first_at, count: Some(2), ..good.clone() }, Code::InvalidRequest),
        (NewJob { count: Some(0), ..good.clone() }, Code::InvalidRequest),
        (NewJob { first_at: Some(at("2029-12-31T23:58:00Z")), ..good.clone() }, Code::InvalidRequest),
        (NewJob { cron: Some("* * *".into()), ..good.clone() }, Code::InvalidSpec),
        (NewJob { zone: "Mars/Base".into(), ..good.clone() }, Code::InvalidSpec),
        (NewJob { zone: "Mars/Base".into(), cron: None, first_at, ..good.clone() }, Code::InvalidSpec),
        (NewJob { version: "9".parse().unwrap(), ..good.clone() }, Code::VersionNotFound),
        (NewJob { version: "@no".parse().unwrap(), ..good.clone() }, Code::AliasNotFound),
        (NewJob { function: "helo".parse().unwrap(), ..good.clone() }, Code::UnitNotFound),
    ] {
        assert_eq!(refused(t.catalog.job_create(&t.app, "joe", new).await).code, code);
    }
    assert_eq!(t.count("jobs").await, 0);
}

async fn after_downtime_endless_jobs_run_one_tick_and_counted_jobs_none(t: &Fixture) {
    t.deploy("hello", "one").await;
    let endless = t.job(new_job("hello", "latest", "*/10 * * * *")).await;
    let counted = t.job(NewJob { count: Some(3), ..new_job("hello", "latest", "*/10 * * * *") }).await;
    t.clock.advance_ms(65 * MINUTE);
    let fired = t.catalog.fire_due(100).await.unwrap();
    assert_eq!((fired.rows, fired.executions, fired.skipped), (2, 1, 5 + 6));
    let executions = t.executions().await;
    assert_eq!(executions[0].cause.id, Some(endless.id));
    assert_eq!(executions[0].scheduled_at, Some(at("2030-01-01T01:00:00Z")));
    let counted = t.catalog.job_get(&t.app, counted.id).await.unwrap();
    assert_eq!((counted.count, counted.next_at), (Some(3), Some(at("2030-01-01T01:10:00Z"))));
}

async fn a_firing_without_a_version_makes_a_failed_execution(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    t.job(new_job("hello", "@stable", "* * * * *")).await;
    // Bypasses the catalog, which would reject this.
    t.number("DELETE FROM aliases WHERE name = 'stable' RETURNING version_id").await;
    assert_eq!(fire_next(t).await.executions, 1);
    let failed = t.executions().await.remove(0);
    assert_eq!((failed.status, failed.version, failed.attempts.len()), (ExecutionStatus::Error, None, 0));
    assert!(failed.result.unwrap().as_str().contains("stable"));
    assert!(failed.finished_at.is_some());
    assert!(t.claim(NODE, 10).await.is_empty());
    assert_eq!(t.version(UnitKind::Function, "hello", "1").await.unwrap().number, 1);
}

async fn a_job_is_found_by_its_name_unless_ambiguous(t: &Fixture) {
    t.deploy("hello", "one").await;
    let named = |name: &str| NewJob { name: name.into(), ..new_job("hello", "latest", "@hourly") };
    let old = t.job(named("nightly")).await;
    let id = async |word: &str| t.catalog.job_id(&t.app, word.to_owned()).await;
    assert_eq!(id(&old.id).await.unwrap(), old.id);
    assert_eq!(id("nightly").await.unwrap(), old.id);
    assert_eq!(refused(id("").await).code, Code::JobNotFound);
    assert_eq!(refused(id("nosuch").await).code, Code::JobNotFound);
    t.clock.advance_ms(1);
    let new = t.job(named("nightly")).await;
    let refusal = refused(id("nightly").await);
    assert_eq!((refusal.code, refusal.lines().len()), (Code::InvalidRequest, 2));
    let cancelled = JobChange { state: Some(JobState::Cancelled), ..JobChange::default() };
    t.catalog.job_update(&t.app, "joe", new.id.clone(), cancelled.clone()).await.unwrap();
    assert_eq!(id("nightly").await.unwrap(), old.id, "the one that may go on");
    t.catalog.job_update(&t.app, "joe", old.id.clone(), cancelled).await.unwrap();
    assert_eq!(refused(id("nightly").await).code, Code::InvalidRequest);
    t.catalog.job_delete(&t.app, "joe", new.id).await.unwrap();
    assert_eq!(id("nightly").await.unwrap(), old.id);
}

async fn ended_jobs_are_swept_at_the_age_of_executions(t: &Fixture) {
    const DAY: i64 = 24 * 60 * MINUTE;
    t.deploy("hello", "one").await;
    let open = t.job(new_job("hello", "latest", "@yearly")).await;
    let paused = t.job(new_job("hello", "latest", "@yearly")).await;
    let done = t.job(NewJob { count: Some(1), ..new_job("hello", "latest", "* * * * *") }).await;
    let cancelled = t.job(new_job("hello", "latest", "@yearly")).await;
    let state = async |id: &str, state| {
        let change = JobChange { state: Some(state), ..JobChange::default() };
        t.catalog.job_update(&t.app, "joe", id.to_owned(), change).await.unwrap();
    };
    fire_next(t).await;
    t.clock.advance_ms(1);
    state(&paused.id, JobState::Paused).await;
    state(&cancelled.id, JobState::Cancelled).await;
    t.drain().await;
    t.clock.advance_ms(14 * DAY - 1);
    t.catalog.sweep(1000).await.unwrap();
    assert_eq!(t.count("jobs").await, 4);
    t.clock.advance_ms(1);
    t.catalog.sweep(1000).await.unwrap();
    assert_eq!(refused(t.catalog.job_get(&t.app, done.id).await).code, Code::JobNotFound);
    assert_eq!(t.count("jobs").await, 3);
    t.clock.advance_ms(1);
    t.catalog.sweep(1000).await.unwrap();
    let mut left: Vec<String> =
        t.catalog.job_list(&t.app, None, 10).await.unwrap().items.into_iter().map(|job| job.id).collect();
    left.sort();
    let mut kept = vec![open.id, paused.id];
    kept.sort();
    assert_eq!(left, kept, "those that may go on stay");
}

async fn a_tick_with_an_execution_is_not_counted_twice(t: &Fixture) {
    t.deploy("hello", "one").await;
    let job = t.job(NewJob { count: Some(3), ..new_job("hello", "latest", "* * * * *") }).await;
    assert_eq!(fire_next(t).await.executions, 1);
    // Even if the row is set back, the tick already has its execution.
    let due = t.catalog.now().as_millisecond();
    t.number(&format!("UPDATE jobs SET next_at = {due} RETURNING fired")).await;
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 0);
    let job = t.catalog.job_get(&t.app, job.id).await.unwrap();
    assert_eq!((job.fired, job.count, job.state), (1, Some(2), JobState::Running));
}

on_both_engines!(
    a_job_is_found_by_its_name_unless_ambiguous,
    ended_jobs_are_swept_at_the_age_of_executions,
    a_tick_with_an_execution_is_not_counted_twice,
    a_job_fires_until_its_count_is_used_up,
    an_alias_is_resolved_at_each_firing,
    jobs_on_latest_follow_the_code_and_pinned_jobs_do_not,
    a_job_fires_at_times_of_its_pattern_after_its_first_time,
    a_paused_job_does_not_fire_and_resumes_from_now,
    a_new_pattern_counts_from_now_and_other_fields_stay,
    invalid_jobs_are_rejected,
    after_downtime_endless_jobs_run_one_tick_and_counted_jobs_none,
    a_firing_without_a_version_makes_a_failed_execution,
);

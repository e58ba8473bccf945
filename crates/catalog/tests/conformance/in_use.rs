//! Anything that executions, jobs and webhooks need is not deleted, removed or swept.

use milepost_model::execution::ExecutionStatus;
use milepost_model::job::{JobChange, JobState};
use milepost_model::{Code, UnitKind};

use crate::common::*;
use crate::facts::RefusalFacts;

const FUNCTION: UnitKind = UnitKind::Function;

/// Deploys two versions of `hello`; tests use the older one.
async fn two_versions(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("hello", "two").await;
}

async fn blocked(t: &Fixture, selector: &str) -> Vec<String> {
    let before = t.rows().await;
    let refusal = refused(t.delete(FUNCTION, "hello", selector).await);
    assert_eq!(refusal.code, Code::InUse);
    assert_eq!(t.rows().await, before);
    refusal.lines()
}

async fn a_version_with_an_open_execution_is_not_deleted(t: &Fixture) {
    two_versions(t).await;
    let id = t.accept("hello", "1").await.execution.id;
    let expected = [format!("execution {id} runs function hello version 1")];
    assert_eq!(blocked(t, "1").await, expected);
    let claimed = t.claim(NODE, 1).await.remove(0);
    assert_eq!(blocked(t, "1").await, expected);
    assert_eq!(blocked(t, "all").await, expected, "of all, or none");
    let package = refused(t.delete(UnitKind::Package, "hello", "1").await);
    assert_eq!(package.lines(), expected, "a package takes its functions along, so it stays too");
    t.catalog.give_back_all(3).await.unwrap();
    assert_eq!(blocked(t, "1").await, expected);
    let claimed_again = t.claim(NODE, 1).await.remove(0);
    assert!(!t.finish(&claimed, ExecutionStatus::Success).await);
    assert!(t.finish(&claimed_again, ExecutionStatus::Success).await);
    t.delete(FUNCTION, "hello", "1").await.unwrap();
    let shown = t.execution(&id).await;
    assert_eq!(shown.version.unwrap().number, 1, "the executed version is still shown");
}

async fn only_the_first_of_many_executions_are_listed(t: &Fixture) {
    two_versions(t).await;
    for _ in 0..25 {
        t.accept("hello", "1").await;
    }
    let blockers = blocked(t, "1").await;
    assert_eq!(blockers.len(), 21);
    assert_eq!(blockers[20], "execution and 5 more runs function hello version 1");
}

async fn a_version_with_an_unfinished_job_pinned_to_it_is_not_deleted(t: &Fixture) {
    two_versions(t).await;
    let job = t.job(new_job("hello", "1", "* * * * *")).await;
    let set = async |state| {
        let change = JobChange { state: Some(state), ..JobChange::default() };
        t.catalog.job_update(&t.app, "joe", job.id.clone(), change).await.unwrap()
    };
    let expected = [format!("job {} is pinned to function hello version 1", job.id)];
    assert_eq!(blocked(t, "1").await, expected);
    set(JobState::Paused).await;
    assert_eq!(blocked(t, "1").await, expected);
    set(JobState::Cancelled).await;
    t.delete(FUNCTION, "hello", "1").await.unwrap();
    assert_eq!(t.catalog.job_get(&t.app, job.id.clone()).await.unwrap().version, Some(1));
}

async fn a_job_on_latest_holds_no_version(t: &Fixture) {
    two_versions(t).await;
    t.job(new_job("hello", "latest", "* * * * *")).await;
    t.webhook("hello", "latest").await.unwrap();
    t.delete(FUNCTION, "hello", "2").await.unwrap();
    t.clock.advance_ms(60_000);
    t.catalog.fire_due(10).await.unwrap();
    assert_eq!(t.ran().await, [Some(1)]);
}

async fn a_version_with_a_webhook_pinned_to_it_is_not_deleted(t: &Fixture) {
    two_versions(t).await;
    let webhook = t.webhook("hello", "1").await.unwrap();
    assert_eq!(blocked(t, "1").await, [format!("webhook {} is pinned to function hello version 1", webhook.id)]);
    t.catalog.webhook_delete(&t.app, "wes", webhook.id).await.unwrap();
    t.delete(FUNCTION, "hello", "1").await.unwrap();
}

async fn a_function_with_jobs_or_webhooks_is_not_removed(t: &Fixture) {
    two_versions(t).await;
    let job = t.job(new_job("hello", "latest", "* * * * *")).await;
    let webhook = t.webhook("hello", "latest").await.unwrap();
    let expected =
        [format!("job {} needs function hello", job.id), format!("webhook {} needs function hello", webhook.id)];
    let refusal = refused(t.remove(FUNCTION, "hello").await);
    assert_eq!((refusal.code, refusal.lines().as_slice()), (Code::StillReferenced, &expected[..]));
    let refusal = refused(t.delete(FUNCTION, "hello", "all").await);
    assert_eq!((refusal.code, refusal.lines().as_slice()), (Code::StillReferenced, &expected[..]));
    t.catalog.job_delete(&t.app, "joe", job.id).await.unwrap();
    t.catalog.webhook_delete(&t.app, "wes", webhook.id).await.unwrap();
    t.remove(FUNCTION, "hello").await.unwrap();
}

async fn everything_that_needs_a_function_is_listed_at_once(t: &Fixture) {
    two_versions(t).await;
    t.put([route("/p", "hello", "latest"), timer("n", "hello", "latest")]).await;
    let job = t.job(new_job("hello", "latest", "* * * * *")).await;
    let webhook = t.webhook("hello", "latest").await.unwrap();
    let users =
        ["route /p".to_owned(), "timer n".to_owned(), format!("job {}", job.id), format!("webhook {}", webhook.id)];
    let expected = users.map(|user| format!("{user} needs function hello"));
    let refusal = refused(t.remove(FUNCTION, "hello").await);
    assert_eq!((refusal.code, refusal.lines().as_slice()), (Code::StillReferenced, &expected[..]));
    // References to single versions do not hide them.
    t.alias("hello", "stable", "1").await;
    let blockers = blocked(t, "all").await;
    assert_eq!(blockers[0], "alias stable points at function hello version 1");
    assert_eq!(blockers[1..], expected);
}

async fn an_alias_that_a_job_or_webhook_follows_is_not_deleted(t: &Fixture) {
    two_versions(t).await;
    t.alias("hello", "stable", "1").await;
    let job = t.job(new_job("hello", "@stable", "* * * * *")).await;
    let webhook = t.webhook("hello", "@stable").await.unwrap();
    let delete =
        async || t.catalog.alias_delete(&t.app, "al", "hello".parse().unwrap(), "stable".parse().unwrap()).await;
    let expected = [format!("job {} follows", job.id), format!("webhook {} follows", webhook.id)];
    assert_eq!(refused(delete().await).lines(), expected);
    t.catalog.job_delete(&t.app, "joe", job.id).await.unwrap();
    t.catalog.webhook_delete(&t.app, "wes", webhook.id).await.unwrap();
    delete().await.unwrap();
}

async fn versions_of_a_removed_function_are_kept_until_its_executions_end(t: &Fixture) {
    t.deploy("hello", "one").await;
    let old = t.active().await;
    t.accept("hello", "latest").await;
    t.accept("hello", "latest").await;
    let running = t.claim(NODE, 1).await.remove(0);
    let removes = vec![key(FUNCTION, "hello"), key(UnitKind::Package, "hello"), key(UnitKind::Environment, "python")];
    t.send(milepost_model::change::Change { removes, ..Default::default() }).await.unwrap();
    t.catalog.release_expire(&t.app, "x", old[0].clone(), String::new()).await.unwrap();
    t.clock.advance_ms(10_000);
    assert_eq!(
        t.catalog.sweep(1000).await.unwrap().versions,
        0,
        "the queue needs it, with its package and environment"
    );
    let serving = t.catalog.serving_version(&t.app, running.version_id).await.unwrap();
    assert!(serving.versions.len() >= 3);
    assert!(t.finish(&running, ExecutionStatus::Success).await);
    assert_eq!(t.catalog.sweep(1000).await.unwrap().versions, 0);
    t.drain().await;
    assert_eq!(t.catalog.sweep(1000).await.unwrap().versions, 3);
    assert_eq!(t.ran().await, [Some(1), Some(1)]);
}

on_both_engines!(
    a_version_with_an_open_execution_is_not_deleted,
    only_the_first_of_many_executions_are_listed,
    a_version_with_an_unfinished_job_pinned_to_it_is_not_deleted,
    a_job_on_latest_holds_no_version,
    a_version_with_a_webhook_pinned_to_it_is_not_deleted,
    a_function_with_jobs_or_webhooks_is_not_removed,
    everything_that_needs_a_function_is_listed_at_once,
    an_alias_that_a_job_or_webhook_follows_is_not_deleted,
    versions_of_a_removed_function_are_kept_until_its_executions_end,
);

//! Accepting, ending, cancelling, reading and deleting executions.

use milepost_catalog::{Accept, Finish, RequestKey};
use milepost_model::execution::{AttemptEnd, CauseKind, ExecutionFilter, ExecutionStatus, MAX_LOG, NewExecution};
use milepost_model::{Code, Digest, PlanName, RawJson, UnitKind};
use serde_json::json;

use crate::common::*;

const DAY: i64 = 24 * 3600 * 1000;

async fn an_execution_is_queued_then_running_then_ended(t: &Fixture) {
    t.deploy("hello", "one").await;
    let accepted = t.accept("hello", "latest").await;
    let version = t.version(UnitKind::Function, "hello", "1").await.unwrap();
    let told = accepted.execution.version.clone().unwrap();
    assert_eq!((told.number, told.uid, told.digest), (1, version.uid, version.digest));
    assert_eq!(t.execution(&accepted.execution.id).await, accepted.execution, "the response equals the stored row");
    assert_eq!((accepted.execution.status, accepted.attempt), (ExecutionStatus::Queued, 0));

    let claimed = t.claim(NODE, 10).await.remove(0);
    assert_eq!((claimed.version_id, claimed.attempt), (accepted.version_id, 1));
    assert_eq!((&claimed.app, claimed.execution.status), (&t.app, ExecutionStatus::Running));
    assert_eq!(claimed.execution.input, Some(json!({ "a": 1 }).into()));
    let serving = t.catalog.serving_version(&t.app, claimed.version_id).await.unwrap();
    assert_eq!(serving.versions[&claimed.version_id].number, 1);

    t.clock.advance_ms(50);
    assert!(t.finish(&claimed, ExecutionStatus::Success).await);
    let ended = t.execution(&claimed.execution.id).await;
    assert_eq!(
        (ended.status, ended.result, ended.duration_ms),
        (ExecutionStatus::Success, Some("done".into()), Some(7))
    );
    assert_eq!(ended.finished_at, Some(t.catalog.now()));
    assert_eq!(ended.attempts.len(), 1);
    assert_eq!((ended.attempts[0].end, ended.attempts[0].node.as_str()), (Some(AttemptEnd::Success), NODE));
    assert_eq!(t.catalog.execution_log(&t.app, ended.id.clone()).await.unwrap(), "line\n");
    assert!(!t.finish(&claimed, ExecutionStatus::Failed).await, "there is one end");
    assert_eq!(t.execution(&ended.id).await.status, ExecutionStatus::Success);
}

async fn a_synchronous_execution_begins_as_running(t: &Fixture) {
    t.deploy("hello", "one").await;
    let new = NewExecution { sync: true, ..new_execution("hello", "1") };
    let accepted = t.catalog.execution_accept(&t.app, asked(new)).await.unwrap();
    assert_eq!((accepted.execution.status, accepted.attempt), (ExecutionStatus::Running, 1));
    assert_eq!(t.execution(&accepted.execution.id).await, accepted.execution);
    assert!(t.claim("other", 10).await.is_empty());
    assert!(t.finish(&accepted, ExecutionStatus::Failed).await);
}

async fn the_version_is_decided_on_acceptance(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    t.accept("hello", "latest").await;
    t.accept("hello", "@stable").await;
    t.deploy("hello", "two").await;
    t.alias("hello", "stable", "2").await;
    t.accept("hello", "@stable").await;
    t.accept("hello", "1").await;
    let numbers: Vec<i64> =
        t.claim(NODE, 10).await.iter().map(|one| one.execution.version.as_ref().unwrap().number).collect();
    assert_eq!(numbers, [1, 1, 2, 1]);
    let selectors: Vec<String> = t.executions().await.iter().map(|one| one.selector.to_string()).collect();
    assert_eq!(selectors, ["latest", "@stable", "@stable", "1"]);
}

async fn an_unknown_version_is_rejected_and_writes_nothing(t: &Fixture) {
    t.deploy("hello", "one").await;
    for (function, version, code) in [
        ("hello", "7", Code::VersionNotFound),
        ("hello", "@gone", Code::AliasNotFound),
        ("helo", "latest", Code::UnitNotFound),
    ] {
        let refusal = refused(t.catalog.execution_accept(&t.app, asked(new_execution(function, version))).await);
        assert_eq!(refusal.code, code);
    }
    assert_eq!(t.count("executions").await, 0);
}

async fn queued_executions_are_cancelled_at_once_and_running_ones_by_their_node(t: &Fixture) {
    t.deploy("hello", "one").await;
    let first = t.accept("hello", "latest").await.execution.id;
    let second = t.accept("hello", "latest").await.execution.id;
    let queued = t.catalog.execution_cancel(&t.app, second.clone()).await.unwrap();
    assert_eq!((queued.status, queued.attempts.len()), (ExecutionStatus::Cancelled, 0));

    let claimed = t.claim(NODE, 10).await;
    assert_eq!(claimed.len(), 1, "what was cancelled is not run");
    assert!(t.catalog.executions_cancelling(NODE).await.unwrap().is_empty());
    let running = t.catalog.execution_cancel(&t.app, first.clone()).await.unwrap();
    assert_eq!((running.status, running.cancelling), (ExecutionStatus::Running, true));
    assert_eq!(t.catalog.executions_cancelling(NODE).await.unwrap(), [(first.clone(), 1)]);
    assert!(t.catalog.executions_cancelling("other").await.unwrap().is_empty());
    assert!(t.finish(&claimed[0], ExecutionStatus::Cancelled).await);
    assert!(t.catalog.executions_cancelling(NODE).await.unwrap().is_empty());
    assert!(!t.execution(&first).await.cancelling);
    assert_eq!(refused(t.catalog.execution_cancel(&t.app, first).await).code, Code::ExecutionEnded);
    assert_eq!(refused(t.catalog.execution_cancel(&t.app, "x".into()).await).code, Code::ExecutionNotFound);
}

async fn lists_are_filtered_and_paged(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.deploy("other", "one").await;
    t.deploy("hello", "two").await;
    t.accept("hello", "1").await;
    t.accept("hello", "2").await;
    let since = t.catalog.now();
    t.accept("other", "1").await;
    let done = t.claim(NODE, 1).await.remove(0);
    t.finish(&done, ExecutionStatus::Failed).await;

    let count = async |filter: ExecutionFilter| t.executions_where(filter).await.len();
    let all = ExecutionFilter::default();
    assert_eq!(count(all.clone()).await, 3);
    assert_eq!(count(ExecutionFilter { function: Some("hello".parse().unwrap()), ..all.clone() }).await, 2);
    assert_eq!(count(ExecutionFilter { version: Some(2), ..all.clone() }).await, 1);
    assert_eq!(count(ExecutionFilter { status: Some(ExecutionStatus::Failed), ..all.clone() }).await, 1);
    assert_eq!(count(ExecutionFilter { status: Some(ExecutionStatus::Queued), ..all.clone() }).await, 2);
    assert_eq!(count(ExecutionFilter { cause: Some(CauseKind::Job), ..all.clone() }).await, 0);
    assert_eq!(count(ExecutionFilter { since: Some(since), ..all.clone() }).await, 2);
    let unknown = ExecutionFilter { function: Some("helo".parse().unwrap()), ..all.clone() };
    assert_eq!(refused(t.catalog.execution_list(&t.app, unknown, None, 10).await).code, Code::UnitNotFound);

    let first = t.catalog.execution_list(&t.app, all.clone(), None, 2).await.unwrap();
    let rest = t.catalog.execution_list(&t.app, all, first.next.clone(), 2).await.unwrap();
    let ids: Vec<String> = first.items.iter().chain(&rest.items).map(|one| one.id.clone()).collect();
    let mut sorted = ids.clone();
    sorted.sort_by(|one, other| other.cmp(one));
    assert_eq!((ids.len(), &ids, rest.next), (3, &sorted, None));
    assert_eq!(rest.items[0].id, done.execution.id);
}

async fn large_values_are_left_out_of_lists_only(t: &Fixture) {
    t.deploy("hello", "one").await;
    let large = RawJson::from(&*"x".repeat(100_000));
    let new = NewExecution { input: Some(large.clone()), ..new_execution("hello", "1") };
    let id = t.catalog.execution_accept(&t.app, asked(new)).await.unwrap().execution.id;
    let listed = t.executions().await.remove(0);
    assert_eq!((listed.input, listed.shortened), (None, true));
    let shown = t.execution(&id).await;
    assert_eq!((shown.input, shown.shortened), (Some(large), false));
}

async fn unusual_text_is_preserved_and_long_logs_are_cut(t: &Fixture) {
    t.deploy("hello", "one").await;
    let text = r#"{"z": "a\u0000b",  "text": "ünïcode 🦀", "deep": [[[null]]], "a": 123456789012345678901234567890, "b": 1e999}"#;
    let input = RawJson::parse(text.to_owned()).unwrap();
    let new = NewExecution {
        input: Some(input.clone()),
        description: "a\u{0}b".to_owned(),
        ..new_execution("hello", "latest")
    };
    t.catalog.execution_accept(&t.app, asked(new)).await.unwrap();
    let claimed = t.claim(NODE, 1).await.remove(0);
    assert_eq!(claimed.execution.input, Some(input.clone()));
    let log = "a line with a nul\u{0}\n".repeat(50_000);
    let finish = Finish { log, result: Some(input.clone()), ..ended(ExecutionStatus::Success) };
    let id = claimed.execution.id.clone();
    assert!(t.catalog.execution_finish(id.clone(), NODE, 1, finish).await.unwrap());
    let log = t.catalog.execution_log(&t.app, id.clone()).await.unwrap();
    assert!(log.len() <= MAX_LOG && log.starts_with("[the log was longer") && log.ends_with("\u{fffd}\n"));
    assert_eq!(t.execution(&id).await.result, Some(input));
}

async fn only_ended_executions_can_be_deleted(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    let delete = async || t.catalog.execution_delete(&t.app, id.clone()).await;
    assert_eq!(refused(delete().await).code, Code::ExecutionNotEnded);
    let claimed = t.claim(NODE, 1).await.remove(0);
    assert_eq!(refused(delete().await).code, Code::ExecutionNotEnded);
    t.finish(&claimed, ExecutionStatus::Success).await;
    delete().await.unwrap();
    assert_eq!(refused(delete().await).code, Code::ExecutionNotFound);
    assert_eq!(refused(t.catalog.execution_log(&t.app, id.clone()).await).code, Code::ExecutionNotFound);
    assert_eq!(t.count("execution_logs").await, 0);
}

async fn the_plan_limits_the_age_and_number_of_kept_executions(t: &Fixture) {
    t.deploy("hello", "one").await;
    let queued = t.accept("hello", "latest").await.execution.id;
    t.catalog.execution_cancel(&t.app, queued).await.unwrap();
    let waiting = t.accept("hello", "latest").await.execution.id;
    // One millisecond has passed since it was cancelled.
    t.clock.advance_ms(14 * DAY - 1);
    assert_eq!(t.catalog.sweep(1000).await.unwrap().executions, 0);
    t.clock.advance_ms(2);
    assert_eq!(t.catalog.sweep(1000).await.unwrap().executions, 1);
    assert_eq!(t.executions().await[0].id, waiting, "what has not ended is kept");
    assert_eq!(t.count("executions").await, 1);

    t.set_plan(PlanName::Free).await;
    let mut ids = Vec::new();
    for _ in 0..1005 {
        ids.push(t.accept("hello", "latest").await.execution.id);
        t.catalog.execution_cancel(&t.app, ids[ids.len() - 1].clone()).await.unwrap();
    }
    assert_eq!(t.catalog.sweep(1000).await.unwrap().executions, 5);
    let kept: Vec<String> = t
        .executions_where(ExecutionFilter { status: Some(ExecutionStatus::Cancelled), ..ExecutionFilter::default() })
        .await
        .into_iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(kept, ids[5..]);
}

async fn deleting_an_app_cancels_its_executions(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer("n", "hello", "latest")]).await;
    t.accept("hello", "latest").await;
    t.accept("hello", "latest").await;
    let running = t.claim(NODE, 1).await.remove(0);
    t.job(new_job("hello", "1", "* * * * *")).await;
    t.webhook("hello", "1").await.unwrap();
    t.catalog.app_delete(&t.app, "x").await.unwrap();
    assert!(t.claim(NODE, 10).await.is_empty());
    assert_eq!(t.catalog.executions_cancelling(NODE).await.unwrap(), [(running.execution.id.clone(), 1)]);
    assert_eq!((t.count("jobs").await, t.count("timers").await, t.count("webhooks").await), (0, 0, 0));
    assert!(t.finish(&running, ExecutionStatus::Cancelled).await);
    t.clock.advance_ms(1);
    assert_eq!(t.catalog.sweep(1000).await.unwrap().executions, 2);
    assert_eq!(t.number("SELECT count(*) FROM versions WHERE state <> 'deleted'").await, 0);
}

async fn an_execution_of_a_deleted_app_is_not_served_by_a_new_app_of_its_name(t: &Fixture) {
    t.deploy("hello", "one").await;
    let claimed = t.accept("hello", "latest").await;
    t.catalog.app_delete(&t.app, "x").await.unwrap();
    t.catalog.app_create(&t.app, PlanName::Standard, "x").await.unwrap();
    let refusal = refused(t.catalog.serving_version(&t.app, claimed.version_id).await);
    assert_eq!(refusal.code, Code::VersionNotFound);
}

async fn nothing_stays_queued_in_an_app_that_is_deleted_concurrently(t: &Fixture) {
    for _ in 0..5 {
        t.deploy("hello", "one").await;
        let accepting = futures::future::join_all((0..8).map(|_| async {
            for _ in 0..10 {
                let _ = t.catalog.execution_accept(&t.app, asked(new_execution("hello", "latest"))).await;
            }
        }));
        let deleting = async {
            // Some are accepted before the delete, others during it.
            t.accept("hello", "latest").await;
            t.catalog.app_delete(&t.app, "x").await.unwrap();
        };
        futures::future::join(accepting, deleting).await;
        assert_eq!(t.number("SELECT count(*) FROM executions WHERE status = 'queued'").await, 0);
        t.catalog.app_create(&t.app, PlanName::Standard, "x").await.unwrap();
    }
}

async fn a_request_with_a_known_key_returns_the_earlier_execution(t: &Fixture) {
    t.deploy("hello", "one").await;
    let key = |again_after_failure| {
        Some(RequestKey { key: "k".to_owned(), fingerprint: Digest::of(b"content"), again_after_failure })
    };
    let ask = async |key| {
        let accepted = t.catalog.execution_accept(&t.app, Accept { key, ..asked(new_execution("hello", "1")) }).await;
        accepted.map(|claimed| (claimed.attempt, claimed.execution))
    };
    let (_, first) = ask(key(false)).await.unwrap();
    assert_eq!(ask(key(false)).await.unwrap().1.id, first.id);
    let other = Some(RequestKey { fingerprint: Digest::of(b"other"), ..key(false).unwrap() });
    assert_eq!(refused(ask(other).await).code, Code::IdempotencyMismatch);
    assert_eq!(t.executions().await.len(), 1);

    let claimed = t.claim(NODE, 1).await.remove(0);
    assert_eq!(ask(key(true)).await.unwrap().1.id, first.id, "it runs");
    assert!(t.finish(&claimed, ExecutionStatus::Failed).await);
    let (attempt, ended) = ask(key(false)).await.unwrap();
    assert_eq!((attempt, ended.id, ended.status), (0, first.id.clone(), ExecutionStatus::Failed));
    let (_, again) = ask(key(true)).await.unwrap();
    assert_ne!(again.id, first.id, "a delivery that failed is repeated on purpose");
    assert_eq!(ask(key(true)).await.unwrap().1.id, again.id);
}

on_both_engines!(
    a_request_with_a_known_key_returns_the_earlier_execution,
    an_execution_is_queued_then_running_then_ended,
    a_synchronous_execution_begins_as_running,
    the_version_is_decided_on_acceptance,
    an_unknown_version_is_rejected_and_writes_nothing,
    queued_executions_are_cancelled_at_once_and_running_ones_by_their_node,
    lists_are_filtered_and_paged,
    large_values_are_left_out_of_lists_only,
    unusual_text_is_preserved_and_long_logs_are_cut,
    only_ended_executions_can_be_deleted,
    the_plan_limits_the_age_and_number_of_kept_executions,
    deleting_an_app_cancels_its_executions,
    an_execution_of_a_deleted_app_is_not_served_by_a_new_app_of_its_name,
    nothing_stays_queued_in_an_app_that_is_deleted_concurrently,
);

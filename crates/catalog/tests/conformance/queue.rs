//! Distribution of the queue, and recovery of executions whose node died.

use milepost_catalog::{Claimed, GivenBack, Turn};
use milepost_model::execution::{AttemptEnd, CauseKind, ExecutionFilter, ExecutionStatus, MAX_ATTEMPTS, NewExecution};
use milepost_model::{AppName, Code, PlanName};

use crate::common::*;

/// Creates another app with the same function.
async fn second_app(t: &Fixture, name: &str, plan: PlanName) -> AppName {
    let app: AppName = name.parse().unwrap();
    t.catalog.app_create(&app, plan, "ann").await.unwrap();
    let tree = t.tree("one").await;
    t.catalog.change(&app, input(change([package("hello", tree), function_on("hello", "hello")]))).await.unwrap();
    app
}

fn apps(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|one| one.app.as_str()).collect()
}

async fn apps_take_turns_however_much_one_has_queued(t: &Fixture) {
    t.deploy("hello", "one").await;
    let other = second_app(t, "other", PlanName::Standard).await;
    for _ in 0..20 {
        t.accept("hello", "latest").await;
    }
    for _ in 0..3 {
        t.accept_in(&other, "hello", "latest").await;
    }
    let mut turn = Turn::default();
    let mut order = Vec::new();
    for _ in 0..8 {
        let claimed = t.catalog.executions_claim(NODE, &mut turn, 1).await.unwrap();
        order.extend(apps(&claimed).into_iter().map(str::to_owned));
    }
    assert_eq!(order, ["shop", "other", "shop", "other", "shop", "other", "shop", "shop"]);

    for _ in 0..3 {
        t.accept_in(&other, "hello", "latest").await;
    }
    let claimed = t.catalog.executions_claim(NODE, &mut turn, 6).await.unwrap();
    assert_eq!(claimed.iter().filter(|one| one.app == other).count(), 3, "each app gets its share of a claim");
    assert_eq!(claimed.len(), 6);
}

async fn an_app_runs_no_more_at_once_than_its_plan_allows(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.set_plan(PlanName::Free).await;
    let other = second_app(t, "other", PlanName::Standard).await;
    for _ in 0..10 {
        t.accept("hello", "latest").await;
        t.accept_in(&other, "hello", "latest").await;
    }
    let mut first = Vec::new();
    loop {
        let claimed = t.claim(NODE, 100).await;
        if claimed.is_empty() {
            break;
        }
        first.extend(claimed);
    }
    assert_eq!(first.iter().filter(|one| one.app == t.app).count(), 4);
    assert_eq!(first.iter().filter(|one| one.app == other).count(), 10, "the other app does not wait for it");
    let mine = first.iter().find(|one| one.app == t.app).unwrap();
    t.finish(mine, ExecutionStatus::Success).await;
    assert_eq!(apps(&t.claim(NODE, 100).await), ["shop"], "one ended, so one more may run");
    t.set_plan(PlanName::Standard).await;
    assert_eq!(t.claim(NODE, 100).await.len(), 5);
}

async fn the_oldest_execution_of_an_app_is_claimed_first(t: &Fixture) {
    t.deploy("hello", "one").await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(t.accept("hello", "latest").await.execution.id);
    }
    let mut claimed: Vec<String> = t.claim(NODE, 2).await.into_iter().map(|one| one.execution.id).collect();
    claimed.extend(t.claim(NODE, 10).await.into_iter().map(|one| one.execution.id));
    assert_eq!(claimed, ids);
}

async fn executions_of_a_dead_node_are_retried_on_the_same_version(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.alias("hello", "stable", "1").await;
    t.catalog.node_beat("dead").await.unwrap();
    t.catalog.node_beat(NODE).await.unwrap();
    let id = t.accept("hello", "@stable").await.execution.id;
    let lost = t.claim("dead", 1).await.remove(0);
    t.deploy("hello", "two").await;
    t.alias("hello", "stable", "2").await;

    let seen = t.catalog.nodes().await.unwrap();
    assert_eq!(seen.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["dead"], "the others run nothing");
    t.clock.advance_ms(1);
    t.catalog.node_beat("dead").await.unwrap();
    let found = t.catalog.give_back_dead(seen, MAX_ATTEMPTS).await.unwrap();
    assert_eq!(found, GivenBack::default(), "it was heard of since it was looked at");
    let found = t.catalog.give_back_dead(t.catalog.nodes().await.unwrap(), MAX_ATTEMPTS).await.unwrap();
    assert_eq!(found, GivenBack { requeued: 1, ended: 0 });
    let waiting = t.execution(&id).await;
    assert_eq!((waiting.status, waiting.attempts.len()), (ExecutionStatus::Queued, 1));
    assert_eq!(waiting.attempts[0].end, Some(AttemptEnd::Lost));

    let again = t.claim(NODE, 1).await.remove(0);
    assert_eq!((again.attempt, again.version_id), (2, lost.version_id));
    assert_eq!(again.execution.version.as_ref().unwrap().number, 1, "the alias has moved, the version has not");
    assert!(!t.finish_as("dead", &lost, ExecutionStatus::Failed).await, "who was given up changes nothing");
    assert!(t.finish(&again, ExecutionStatus::Success).await);
    let ended = t.execution(&id).await;
    let attempts: Vec<_> = ended.attempts.iter().map(|one| (one.number, one.node.as_str(), one.end.unwrap())).collect();
    assert_eq!(attempts, [(1, "dead", AttemptEnd::Lost), (2, NODE, AttemptEnd::Success)]);
    assert!(ended.started_at < Some(ended.attempts[1].started_at));
    assert_eq!(t.executions().await[0].attempts.len(), 2, "lists tell the attempts too");
}

async fn an_execution_fails_after_three_dead_attempts(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    for attempt in 1..=MAX_ATTEMPTS {
        let claimed = t.claim(NODE, 1).await.remove(0);
        assert_eq!(claimed.attempt, attempt);
        assert!(t.begin(&claimed).await);
        let found = t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
        let last = u64::from(attempt == MAX_ATTEMPTS);
        assert_eq!(found, GivenBack { requeued: 1 - last, ended: last });
    }
    let ended = t.execution(&id).await;
    assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Error, 3));
    assert!(ended.result.unwrap().as_str().contains("3 times"));
    assert!(t.claim(NODE, 1).await.is_empty());
}

async fn an_attempt_that_never_reached_an_instance_does_not_count(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    // It is unknown whether the first attempt had begun, so it counts. None of the others had
    // begun.
    for attempt in 1..=MAX_ATTEMPTS + 2 {
        assert_eq!(t.claim(NODE, 1).await.remove(0).attempt, attempt);
        let found = t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
        assert_eq!(found, GivenBack { requeued: 1, ended: 0 }, "attempt {attempt}");
    }
    let begun = t.claim(NODE, 1).await.remove(0);
    assert!(t.begin(&begun).await);
    t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
    assert!(!t.begin(&begun).await, "it is not the present one any more");
    // An attempt that began and then found no free instance counts as not begun.
    let busy = t.claim(NODE, 1).await.remove(0);
    assert!(t.begin(&busy).await);
    assert!(t.catalog.execution_postpone(id.clone(), NODE, busy.attempt, 0).await.unwrap());
    assert_eq!(t.claim(NODE, 1).await.remove(0).attempt, busy.attempt);
    t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
    assert_eq!(t.execution(&id).await.status, ExecutionStatus::Queued);
    let last = t.claim(NODE, 1).await.remove(0);
    assert!(t.begin(&last).await);
    assert_eq!(t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap(), GivenBack { requeued: 0, ended: 1 });
    let ended = t.execution(&id).await;
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    let (lost, unbegun) = (AttemptEnd::Lost, AttemptEnd::Unbegun);
    assert_eq!(ends, [lost, unbegun, unbegun, unbegun, unbegun, lost, unbegun, lost], "all ends are returned");
    assert!(ended.status == ExecutionStatus::Error && ended.result.unwrap().as_str().contains("3 times"));
}

async fn an_execution_whose_server_dies_ten_times_before_it_begins_ends(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    // A server stop does not count as a death.
    let stopped = t.claim(NODE, 1).await.remove(0);
    assert!(t.catalog.execution_stop(id.clone(), NODE, stopped.attempt).await.unwrap());
    for death in 1..=10 {
        assert_eq!(t.claim(NODE, 1).await.len(), 1, "death {death}");
        let found = t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
        let last = u64::from(death == 10);
        assert_eq!(found, GivenBack { requeued: 1 - last, ended: last }, "death {death}");
    }
    let ended = t.execution(&id).await;
    assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Error, 11));
    let why = ended.result.unwrap();
    assert!(why.as_str().contains("died 10 times while it ran or was about to"), "{}", why.as_str());
    assert!(t.claim(NODE, 1).await.is_empty());
}

async fn a_synchronous_execution_of_a_dead_server_is_not_retried(t: &Fixture) {
    t.deploy("hello", "one").await;
    let new = NewExecution { sync: true, ..new_execution("hello", "1") };
    let id = t.catalog.execution_accept(&t.app, asked(new)).await.unwrap().execution.id;
    let cancelled = t.accept("hello", "latest").await.execution.id;
    t.claim(NODE, 1).await;
    t.catalog.execution_cancel(&t.app, cancelled.clone()).await.unwrap();
    assert_eq!(t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap(), GivenBack { requeued: 0, ended: 2 });
    assert_eq!(t.execution(&id).await.status, ExecutionStatus::Error);
    assert_eq!(t.execution(&cancelled).await.status, ExecutionStatus::Cancelled);
    assert_eq!(t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap(), GivenBack::default());
}

async fn an_attempt_that_could_not_start_is_no_attempt(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    let mut waits = Vec::new();
    let mut tried = 0;
    while tried < 3600 {
        let claimed = t.claim(NODE, 1).await.remove(0);
        assert_eq!(claimed.attempt, 1, "the others do not count");
        let wait = t.catalog.execution_unstarted(id.clone(), NODE, 1, "The disk is full.").await.unwrap().unwrap();
        assert_eq!(t.catalog.execution_unstarted(id.clone(), NODE, 1, "").await.unwrap(), None, "it waits already");
        t.clock.advance_ms(wait.as_millis() as i64 - 1);
        assert!(t.claim(NODE, 1).await.is_empty());
        t.clock.advance_ms(1);
        tried += wait.as_secs();
        waits.push(wait.as_secs());
    }
    assert_eq!((waits[0], *waits.last().unwrap()), (1, 60));
    t.claim(NODE, 1).await;
    assert_eq!(t.catalog.execution_unstarted(id.clone(), NODE, 1, "The disk is full.").await.unwrap(), None);
    let ended = t.execution(&id).await;
    assert_eq!((ended.status, ended.attempts.len()), (ExecutionStatus::Error, 1));
    assert_eq!(ended.result.unwrap().as_str(), "\"No server could start it within an hour. The disk is full.\"");
}

async fn a_node_that_leaves_gives_back_at_once(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.catalog.node_beat(NODE).await.unwrap();
    t.accept("hello", "latest").await;
    t.claim(NODE, 1).await;
    t.catalog.node_leave(NODE).await.unwrap();
    let left = t.catalog.nodes().await.unwrap();
    assert_eq!((left[0].name.as_str(), left[0].beat_at), (NODE, None));
    let found = t.catalog.give_back_dead(left, MAX_ATTEMPTS).await.unwrap();
    assert_eq!(found, GivenBack { requeued: 1, ended: 0 });
}

async fn attempts_given_back_by_a_stopping_server_do_not_count(t: &Fixture) {
    t.deploy("hello", "one").await;
    let id = t.accept("hello", "latest").await.execution.id;
    for attempt in 1..=MAX_ATTEMPTS {
        assert_eq!(t.claim(NODE, 1).await.remove(0).attempt, attempt);
        assert!(t.catalog.execution_stop(id.clone(), NODE, attempt).await.unwrap());
        assert!(!t.catalog.execution_stop(id.clone(), NODE, attempt).await.unwrap(), "it waits already");
    }
    for death in 1..=MAX_ATTEMPTS {
        assert_eq!(t.execution(&id).await.status, ExecutionStatus::Queued);
        let claimed = t.claim(NODE, 1).await.remove(0);
        assert_eq!(claimed.attempt, MAX_ATTEMPTS + death);
        assert!(t.begin(&claimed).await);
        t.catalog.give_back_all(MAX_ATTEMPTS).await.unwrap();
    }
    let ended = t.execution(&id).await;
    let ends: Vec<_> = ended.attempts.iter().map(|attempt| attempt.end.unwrap()).collect();
    assert_eq!(ends, [[AttemptEnd::Stopped; 3], [AttemptEnd::Lost; 3]].concat());
    assert_eq!(ended.status, ExecutionStatus::Error);
    assert!(ended.result.unwrap().as_str().contains("3 times"));

    let new = NewExecution { sync: true, ..new_execution("hello", "1") };
    let sync = t.catalog.execution_accept(&t.app, asked(new)).await.unwrap().execution.id;
    assert!(t.catalog.execution_stop(sync.clone(), NODE, 1).await.unwrap());
    assert_eq!(t.execution(&sync).await.status, ExecutionStatus::Error, "its caller is gone");
}

async fn an_execution_that_found_all_instances_busy_is_unclaimed(t: &Fixture) {
    t.deploy("hello", "one").await;
    let busy = t.accept("hello", "latest").await.execution.id;
    let other = t.accept("hello", "latest").await.execution.id;
    assert_eq!(t.claim(NODE, 1).await.remove(0).execution.id, busy);
    assert!(t.catalog.execution_postpone(busy.clone(), NODE, 1, 1000).await.unwrap());
    let waiting = t.execution(&busy).await;
    assert_eq!((waiting.status, waiting.attempts.len(), waiting.started_at), (ExecutionStatus::Queued, 0, None));
    let claimed: Vec<String> = t.claim(NODE, 5).await.into_iter().map(|one| one.execution.id).collect();
    assert_eq!(claimed, [other], "the next one is not kept waiting");
    t.clock.advance_ms(1000);
    let again = t.claim(NODE, 5).await.remove(0);
    assert_eq!((again.execution.id.as_str(), again.attempt), (busy.as_str(), 1));
    t.catalog.execution_cancel(&t.app, busy.clone()).await.unwrap();
    assert!(t.catalog.execution_postpone(busy.clone(), NODE, 1, 1000).await.unwrap());
    assert_eq!(t.execution(&busy).await.status, ExecutionStatus::Cancelled);
}

async fn a_plan_limits_the_queue_of_an_app(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.put([timer_at("often", "*/10 * * * *", "hello", "latest")]).await;
    t.set_plan(PlanName::Free).await;
    let most = PlanName::Free.limits().executions_queued;
    for _ in 0..most {
        t.catalog.execution_accept(&t.app, asked(new_execution("hello", "1"))).await.unwrap();
    }
    let accept = async || t.catalog.execution_accept(&t.app, asked(new_execution("hello", "1"))).await;
    assert_eq!(refused(accept().await).code, Code::QueueFull);
    let another = t.another().await.execution_accept(&t.app, asked(new_execution("hello", "1"))).await;
    assert_eq!(refused(another).code, Code::QueueFull, "it counts for itself");
    // A tick is not lost: its execution says why it was not run.
    t.clock.advance_ms(10 * 60_000);
    assert_eq!(t.catalog.fire_due(100).await.unwrap().executions, 1);
    let timed = ExecutionFilter { cause: Some(CauseKind::Timer), ..ExecutionFilter::default() };
    let tick = t.executions_where(timed).await.remove(0);
    assert_eq!((tick.status, tick.version.is_some()), (ExecutionStatus::Error, true));
    assert!(tick.result.unwrap().as_str().contains("as many executions"));
    let other = second_app(t, "other", PlanName::Free).await;
    t.accept_in(&other, "hello", "latest").await;
    t.claim(NODE, 2).await;
    accept().await.unwrap();
    assert_eq!(t.number("SELECT count(*) FROM executions WHERE status = 'queued'").await, i64::from(most));
}

async fn a_synchronous_execution_is_rejected_at_the_plan_limit(t: &Fixture) {
    t.deploy("hello", "one").await;
    t.set_plan(PlanName::Free).await;
    let sync = async || {
        let new = NewExecution { sync: true, ..new_execution("hello", "1") };
        t.catalog.execution_accept(&t.app, asked(new)).await
    };
    t.accept("hello", "latest").await;
    let queued = t.claim(NODE, 1).await.remove(0);
    for _ in 1..PlanName::Free.limits().executions_at_once {
        sync().await.unwrap();
    }
    assert_eq!(refused(sync().await).code, Code::TooManyRunning);
    t.accept("hello", "latest").await;
    t.finish(&queued, ExecutionStatus::Success).await;
    sync().await.unwrap();
}

async fn claimed_executions_are_returned_if_a_later_app_fails(t: &Fixture) {
    t.deploy("hello", "one").await;
    let broken = second_app(t, "broken", PlanName::Standard).await;
    let last = second_app(t, "last", PlanName::Standard).await;
    t.accept("hello", "latest").await;
    t.accept_in(&broken, "hello", "latest").await;
    t.accept_in(&last, "hello", "latest").await;
    // A queued execution always has a version, so this one cannot be claimed.
    t.number(
        "UPDATE executions SET version_id = NULL WHERE app_id = (SELECT id FROM apps WHERE name = 'broken') RETURNING attempt",
    )
    .await;
    let mut turn = Turn::default();
    let claimed = t.catalog.executions_claim(NODE, &mut turn, 10).await.unwrap();
    assert_eq!(apps(&claimed), ["shop"], "it runs on this node now, so this node has to hear of it");
    let claimed = t.catalog.executions_claim(NODE, &mut turn, 10).await.unwrap();
    assert_eq!(apps(&claimed), ["last"], "the app that failed has had its turn");
    assert!(
        t.catalog.executions_claim(NODE, &mut turn, 10).await.is_err(),
        "nothing was claimed, so the error is returned"
    );
    assert_eq!(t.number("SELECT count(*) FROM executions WHERE status = 'running'").await, 2);
}

async fn an_attempt_unknown_to_its_live_node_is_given_back(t: &Fixture) {
    const YOUNG: i64 = 10_000;
    t.deploy("hello", "one").await;
    t.catalog.node_beat(NODE).await.unwrap();
    let queued = t.accept("hello", "latest").await.execution.id;
    let new = NewExecution { sync: true, ..new_execution("hello", "1") };
    t.clock.advance_ms(1);
    let sync = t.catalog.execution_accept(&t.app, asked(new)).await.unwrap().execution.id;
    t.claim(NODE, 1).await;
    assert!(t.catalog.executions_held(NODE, YOUNG).await.unwrap().is_empty(), "they may be on their way");
    t.clock.advance_ms(YOUNG + 1);
    let other = t.accept("hello", "latest").await.execution.id;
    t.claim("other", 1).await;
    let mut held = t.catalog.executions_held(NODE, YOUNG).await.unwrap();
    held.sort();
    assert_eq!(held, [(queued.clone(), 1), (sync.clone(), 1)]);

    let give_back = async |id: &str, node, attempt| {
        t.catalog.give_back_attempt(id.to_owned(), node, attempt, MAX_ATTEMPTS).await.unwrap()
    };
    assert_eq!(give_back(&other, NODE, 1).await, GivenBack::default(), "another node has it");
    assert_eq!(give_back(&queued, NODE, 2).await, GivenBack::default(), "another attempt runs");
    assert_eq!(give_back(&queued, NODE, 1).await, GivenBack { requeued: 1, ended: 0 });
    assert_eq!(give_back(&queued, NODE, 1).await, GivenBack::default(), "it waits already");
    assert_eq!(give_back(&sync, NODE, 1).await, GivenBack { requeued: 0, ended: 1 });
    assert_eq!(give_back(&sync, NODE, 1).await, GivenBack::default(), "it has ended");
    assert_eq!(t.execution(&sync).await.status, ExecutionStatus::Error);
    let again = t.claim(NODE, 1).await.remove(0);
    assert_eq!((&again.execution.id, again.attempt), (&queued, 2));
    assert_eq!(again.execution.attempts[0].end, Some(AttemptEnd::Lost));
}

on_both_engines!(
    apps_take_turns_however_much_one_has_queued,
    an_app_runs_no_more_at_once_than_its_plan_allows,
    the_oldest_execution_of_an_app_is_claimed_first,
    executions_of_a_dead_node_are_retried_on_the_same_version,
    an_execution_fails_after_three_dead_attempts,
    an_attempt_that_never_reached_an_instance_does_not_count,
    an_execution_whose_server_dies_ten_times_before_it_begins_ends,
    a_synchronous_execution_of_a_dead_server_is_not_retried,
    an_attempt_that_could_not_start_is_no_attempt,
    a_node_that_leaves_gives_back_at_once,
    attempts_given_back_by_a_stopping_server_do_not_count,
    an_execution_that_found_all_instances_busy_is_unclaimed,
    a_plan_limits_the_queue_of_an_app,
    a_synchronous_execution_is_rejected_at_the_plan_limit,
    claimed_executions_are_returned_if_a_later_app_fails,
    an_attempt_unknown_to_its_live_node_is_given_back,
);

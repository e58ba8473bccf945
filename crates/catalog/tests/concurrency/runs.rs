//! Many servers over one database that accept, claim, fire and delete concurrently.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_catalog::{CatalogError, Turn};
use milepost_model::execution::ExecutionStatus;
use milepost_model::{Code, PlanName, UnitKind};

use crate::common::*;

const CLAIMERS: usize = 16;
const FIRERS: usize = 8;

async fn all<T: Send + 'static>(tasks: Vec<tokio::task::JoinHandle<T>>) -> Vec<T> {
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

pub async fn sixteen_claimers_never_claim_an_execution_twice(t: Arc<Fixture>) {
    t.deploy("hello", "one").await;
    for _ in 0..200 {
        t.accept("hello", "latest").await;
    }
    let claimers = (0..CLAIMERS).map(|number| {
        let t = Arc::clone(&t);
        tokio::spawn(async move {
            let (node, mut turn, mut mine) = (format!("node {number}"), Turn::default(), Vec::new());
            loop {
                let claimed = t.catalog.executions_claim(&node, &mut turn, 5).await.unwrap();
                if !claimed.is_empty() {
                    let running = t.number("SELECT count(*) FROM executions WHERE status = 'running'").await;
                    assert!(running <= 32, "{running} run at once");
                }
                for one in claimed {
                    assert!(t.finish_as(&node, &one, ExecutionStatus::Success).await);
                    mine.push(one.execution.id);
                }
                // An empty claim may mean that the others run as many as the plan allows.
                if t.number("SELECT count(*) FROM executions WHERE status = 'queued'").await == 0 {
                    return mine;
                }
                // Reads on SQLite complete without yielding, so a loop of them would starve other
                // tasks.
                tokio::task::yield_now().await;
            }
        })
    });
    let mut taken = all(claimers.collect()).await.concat();
    assert_eq!(taken.len(), 200);
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 200);
    assert_eq!(t.number("SELECT count(*) FROM executions WHERE status = 'success' AND attempt = 1").await, 200);
}

pub async fn concurrent_claimers_respect_the_plan_limit(t: Arc<Fixture>) {
    t.deploy("hello", "one").await;
    t.set_plan(PlanName::Free).await;
    for _ in 0..50 {
        t.accept("hello", "latest").await;
    }
    let claimers = (0..CLAIMERS).map(|number| {
        let t = Arc::clone(&t);
        tokio::spawn(async move { t.claim(&format!("node {number}"), 10).await.len() })
    });
    assert_eq!(all(claimers.collect()).await.into_iter().sum::<usize>(), 4);
}

pub async fn eight_firers_fire_each_tick_once(t: Arc<Fixture>) {
    t.deploy("hello", "one").await;
    t.put((0..30).map(|number| timer_at(&format!("t{number}"), "@every 1s", "hello", "latest"))).await;
    for _ in 0..30 {
        t.job(new_job("hello", "latest", "@every 1s")).await;
    }
    let began = t.catalog.now();
    for _ in 0..10 {
        t.clock.advance_ms(1000);
        let firers = (0..FIRERS).map(|_| {
            let t = Arc::clone(&t);
            tokio::spawn(async move { while t.catalog.fire_due(7).await.unwrap().rows > 0 {} })
        });
        all(firers.collect()).await;
    }
    let mut fired: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for execution in t.executions().await {
        let tick = execution.scheduled_at.unwrap().as_millisecond() - began.as_millisecond();
        fired.entry(execution.cause.id.unwrap()).or_default().push(tick);
    }
    assert_eq!(fired.len(), 60);
    for (who, mut ticks) in fired {
        ticks.sort_unstable();
        assert_eq!(ticks, (1..=10).map(|second| second * 1000).collect::<Vec<_>>(), "{who}");
    }
}

/// A minute of a thousand timers that fire every second, as fast as the database allows.
pub async fn slow_two_servers_fire_each_tick_of_a_thousand_timers_once(t: Arc<Fixture>) {
    const TIMERS: i64 = 1000;
    const SECONDS: i64 = 60;
    t.deploy("hello", "one").await;
    t.put((0..TIMERS).map(|number| timer_at(&format!("t{number}"), "@every 1s", "hello", "latest"))).await;
    let servers = [t.catalog.clone(), t.another().await];
    let mut fired = 0;
    for _ in 0..SECONDS {
        t.clock.advance_ms(1000);
        let firers = servers.iter().flat_map(|server| [server.clone(), server.clone()]).map(|server| {
            tokio::spawn(async move {
                let mut executions = 0;
                loop {
                    let some = server.fire_due(200).await.unwrap();
                    assert_eq!((some.skipped, some.postponed), (0, 0));
                    executions += some.executions;
                    if some.rows == 0 {
                        return executions;
                    }
                }
            })
        });
        fired += all(firers.collect()).await.into_iter().sum::<u64>();
    }
    assert_eq!(fired, (TIMERS * SECONDS) as u64);
    assert_eq!(t.count("executions").await, TIMERS * SECONDS);
    let exact = format!(
        "SELECT count(*) FROM (SELECT cause_id FROM executions WHERE status = 'queued' GROUP BY cause_id \
         HAVING count(DISTINCT scheduled_at) = {SECONDS} AND count(*) = {SECONDS}) AS t"
    );
    assert_eq!(t.number(&exact).await, TIMERS, "each timer fired once a second");
}

/// In any order, an open execution has its version, and nothing deadlocks.
pub async fn invariant_5_accepting_and_firing_while_versions_are_deleted(t: Arc<Fixture>) {
    t.deploy("hello", "0").await;
    t.put([timer_at("tick", "@every 1s", "hello", "latest")]).await;
    t.job(new_job("hello", "latest", "@every 1s")).await;
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let t = Arc::clone(&t);
        tasks.push(tokio::spawn(async move {
            for step in 1..12 {
                t.deploy("hello", &format!("{writer} {step}")).await;
                match t.delete(UnitKind::Function, "hello", "latest").await {
                    Ok(_) => {}
                    Err(CatalogError::Refused(refusal)) => {
                        let expected = [Code::InUse, Code::StillReferenced, Code::VersionNotFound];
                        assert!(expected.contains(&refusal.code), "{refusal:?}");
                    }
                    Err(error) => panic!("{error:?}"),
                }
                // The test clock runs fast; recent uploads must stay.
                t.catalog.sweep(24 * 3600 * 1000).await.unwrap();
            }
        }));
    }
    for _ in 0..4 {
        let t = Arc::clone(&t);
        tasks.push(tokio::spawn(async move {
            for _ in 0..30 {
                let accepted =
                    t.catalog.execution_accept(&t.app, asked(new_execution("hello", "latest"))).await.unwrap();
                let needed = t.catalog.serving_version(&t.app, accepted.version_id).await.unwrap();
                let ended = t.execution(&accepted.execution.id).await.status.is_ended();
                assert!(ended || needed.versions.contains_key(&accepted.version_id), "its version is gone");
                t.clock.advance_ms(300);
                t.catalog.fire_due(10).await.unwrap();
                t.drain().await;
            }
        }));
    }
    all(tasks).await;
    t.drain().await;
    let ended = "SELECT count(*) FROM executions WHERE finished_at IS NULL";
    assert_eq!(t.number(ended).await, 0);
    assert_eq!(t.number("SELECT count(*) FROM executions WHERE status <> 'success'").await, 0);
}

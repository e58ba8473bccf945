//! Several nodes over one database: beats, takeover, and clocks.

use std::sync::Arc;

use milepost_catalog::{Catalog, Fired};
use milepost_model::clock::from_millis;
use milepost_model::{Clock, PlanName, SystemClock, Timestamp};

use crate::common::*;

const DAY_MS: i64 = 24 * 3600 * 1000;

async fn dead(t: &Fixture) -> Vec<String> {
    t.catalog.nodes_dead().await.unwrap().into_iter().map(|node| node.name).collect()
}

/// Queues an execution and lets a node claim it.
async fn claimed_by(t: &Fixture, node: &str) {
    t.deploy("hello", node).await;
    t.catalog.node_beat(node).await.unwrap();
    t.accept("hello", "latest").await;
    assert_eq!(t.claim(node, 1).await.len(), 1);
}

async fn a_node_is_dead_after_twenty_seconds_also_while_nodes_keep_dying(t: &Fixture) {
    t.catalog.node_beat("first").await.unwrap();
    t.clock.advance_ms(5000);
    claimed_by(t, "lost").await;
    // None of the others lives for long enough to watch it.
    for node in ["a", "b", "c"] {
        t.clock.advance_ms(5000);
        t.catalog.node_beat(node).await.unwrap();
        assert_eq!(dead(t).await, [""; 0], "{node}");
    }
    t.clock.advance_ms(5000);
    t.catalog.node_beat("d").await.unwrap();
    assert_eq!(dead(t).await, ["lost"]);
    t.catalog.node_beat("lost").await.unwrap();
    assert_eq!(dead(t).await, [""; 0], "it lives after all");
}

async fn no_node_is_dead_because_the_database_was_away(t: &Fixture) {
    claimed_by(t, "alive").await;
    claimed_by(t, "lost").await;
    t.clock.advance_ms(3_600_000);
    // The first one that reaches the database again.
    t.catalog.node_beat("first").await.unwrap();
    assert_eq!(dead(t).await, [""; 0]);
    for _ in 0..4 {
        t.clock.advance_ms(5000);
        t.catalog.node_beat("first").await.unwrap();
        t.catalog.node_beat("alive").await.unwrap();
    }
    assert_eq!(dead(t).await, ["lost"]);
}

async fn a_failover_to_a_clock_that_is_behind_hides_no_dead_node(t: &Fixture) {
    claimed_by(t, "alive").await;
    claimed_by(t, "lost").await;
    t.clock.advance_ms(-3_600_000);
    for _ in 0..4 {
        t.catalog.node_beat("alive").await.unwrap();
        assert_eq!(dead(t).await, [""; 0]);
        t.clock.advance_ms(5000);
    }
    t.catalog.node_beat("alive").await.unwrap();
    assert_eq!(dead(t).await, ["lost"]);
}

async fn a_node_that_left_is_dead_at_once(t: &Fixture) {
    claimed_by(t, "gone").await;
    t.catalog.node_leave("gone").await.unwrap();
    assert_eq!(dead(t).await, ["gone"]);
}

on_both_engines!(
    a_node_is_dead_after_twenty_seconds_also_while_nodes_keep_dying,
    no_node_is_dead_because_the_database_was_away,
    a_failover_to_a_clock_that_is_behind_hides_no_dead_node,
    a_node_that_left_is_dead_at_once,
);

/// A real clock that is off.
struct Off(i64);

impl Clock for Off {
    fn now(&self) -> Timestamp {
        from_millis(SystemClock.now().as_millisecond() + self.0)
    }
}

async fn with_clock(engine: &Engine, off_ms: i64) -> PlainCatalog {
    PlainCatalog(engine.open_clock(Arc::new(Off(off_ms))).await)
}

mod clocks {
    mod postgres {
        use milepost_model::job::NewJob;

        use super::super::*;

        #[tokio::test]
        async fn a_job_is_due_by_the_clock_of_the_database() {
            let engine = Engine::postgres();
            let (right, ahead, behind) =
                (with_clock(&engine, 0).await, with_clock(&engine, DAY_MS).await, with_clock(&engine, -DAY_MS).await);
            let app: milepost_model::AppName = "shop".parse().unwrap();
            right.app_create(&app, PlanName::Standard, "ann").await.unwrap();
            let root = stored_tree(&right, &app).await;
            right.change(&app, input(change([package("hello", root), function_on("hello", "hello")]))).await.unwrap();
            for (catalog, off) in [(&right, 0), (&ahead, DAY_MS), (&behind, -DAY_MS)] {
                let apart = catalog.clock_ahead_ms() - off;
                assert!(apart.abs() < 2000, "{apart}");
                assert!((catalog.now().as_millisecond() - SystemClock.now().as_millisecond()).abs() < 2000);
            }
            let hourly = new_job("hello", "latest", "0 * * * *");
            let job = ahead.job_create(&app, "joe", hourly).await.unwrap();
            let wait = job.next_at.unwrap().as_millisecond() - SystemClock.now().as_millisecond();
            assert!((-2000..=3_602_000).contains(&wait), "the next hour is {wait} ms away");
            assert_eq!(ahead.fire_due(100).await.unwrap(), Fired::default(), "an hour is not over yet");

            let past = from_millis(SystemClock.now().as_millisecond() + 500);
            let soon = NewJob { cron: None, count: Some(1), first_at: Some(past), ..new_job("hello", "latest", "") };
            right.job_create(&app, "joe", soon).await.unwrap();
            milepost_testkit::eventually(std::time::Duration::from_secs(20), async || {
                behind.fire_due(100).await.unwrap().executions == 1
            })
            .await;
            assert!(SystemClock.now() >= past, "it fired early");
            assert_eq!(right.fire_due(100).await.unwrap(), Fired::default(), "a tick fires once");
        }

        /// Stores a tree with one file.
        async fn stored_tree(catalog: &Catalog, app: &milepost_model::AppName) -> milepost_model::Digest {
            let (file, root) = tree_digests("one");
            let new = vec![blob(file, None), blob(root, Some(vec![file]))];
            let size = new.iter().map(|blob| blob.size).sum();
            catalog.pack_register(app, "pack".to_owned(), size, new).await.unwrap();
            root
        }
    }
}

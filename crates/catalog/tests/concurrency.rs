//! Many concurrent writers, on both engines. Every run has a deadline, so a deadlock fails the
//! test.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "concurrency/churn.rs"]
mod churn;
#[expect(dead_code, reason = "the conformance suite uses the rest")]
mod common;
#[path = "concurrency/runs.rs"]
mod runs;
#[path = "concurrency/writers.rs"]
mod writers;

use std::sync::Arc;
use std::time::Duration;

use common::{Engine, Fixture};

const DEADLINE: Duration = Duration::from_secs(150);

fn run<F: Future<Output = ()>>(engine: fn() -> Engine, case: impl FnOnce(Arc<Fixture>) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let fixture = Arc::new(Fixture::new(engine()).await);
        let ended = tokio::time::timeout(DEADLINE, case(fixture)).await;
        assert!(ended.is_ok(), "something waits for ever");
    });
}

macro_rules! on_both_engines {
    ($($module:ident::$case:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $case() {
                super::run(super::Engine::sqlite, super::$module::$case);
            })*
        }
        mod postgres {
            $(#[test]
            fn $case() {
                super::run(super::Engine::postgres, super::$module::$case);
            })*
        }
    };
}

on_both_engines!(
    writers::every_change_of_sixteen_writers_lands_once,
    writers::concurrent_resends_with_one_key_apply_once,
    writers::concurrent_changes_of_two_deployments_both_land,
    writers::one_of_many_changes_that_expect_the_same_head_wins,
    writers::uploads_of_the_same_files_do_not_deadlock,
    writers::apps_with_equal_content_do_not_deadlock,
    runs::sixteen_claimers_never_claim_an_execution_twice,
    runs::concurrent_claimers_respect_the_plan_limit,
    runs::eight_firers_fire_each_tick_once,
    runs::slow_two_servers_fire_each_tick_of_a_thousand_timers_once,
    runs::invariant_5_accepting_and_firing_while_versions_are_deleted,
    churn::invariant_5_nothing_needed_is_missing_during_concurrent_changes,
);

/// Cases for PostgreSQL only: several servers, and a connection pool that can run out.
mod shared {
    mod postgres {
        #[test]
        fn writers_that_wait_for_one_app_do_not_block_others() {
            super::super::run(
                super::super::Engine::postgres,
                super::super::writers::writers_that_wait_for_one_app_do_not_block_others,
            );
        }
    }
}

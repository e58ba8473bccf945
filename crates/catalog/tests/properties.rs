//! The invariants (DESIGN, section 9), checked after every step of random sequences of operations.
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a step that fails ends the test")]

#[path = "properties/aliases.rs"]
mod aliases;
#[path = "properties/checked.rs"]
mod checked;
#[expect(dead_code, reason = "the conformance suite uses the rest")]
mod common;
#[path = "properties/copies.rs"]
mod copies;
#[path = "properties/declared.rs"]
mod declared;
#[path = "properties/invariants.rs"]
mod invariants;
#[path = "properties/one_history.rs"]
mod one_history;
#[path = "properties/operations.rs"]
mod operations;
#[path = "properties/published.rs"]
mod published;
#[path = "properties/refusals.rs"]
mod refusals;
#[path = "properties/rolled.rs"]
mod rolled;
#[path = "properties/users.rs"]
mod users;
#[path = "properties/world.rs"]
mod world;

use std::cell::RefCell;

use common::{Engine, Fixture};
use milepost_model::{Digest, PlanName};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use world::World;

/// Runs random cases, each on its own app. The cases are the same in every run with the same
/// `PROPTEST_RNG_SEED`; `PROPTEST_CASES` sets their number.
fn run<S: Strategy>(
    name: &str,
    engine: fn() -> Engine,
    cases: u32,
    strategy: &S,
    case: impl AsyncFn(&mut Fixture, &S::Value),
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fixture = RefCell::new((runtime.block_on(Fixture::new(engine())), 0));
    let cases = std::env::var("PROPTEST_CASES").map_or(cases, |more| more.parse().unwrap());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
    let seed = std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "1".to_owned());
    let seed = Digest::of(format!("{name} {seed}").as_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, seed.as_bytes());
    let result = TestRunner::new_with_rng(config, rng).run(strategy, |value| {
        let (fixture, count) = &mut *fixture.borrow_mut();
        *count += 1;
        fixture.app = format!("app{count}").parse().unwrap();
        runtime.block_on(async {
            fixture.catalog.app_create(&fixture.app, PlanName::Free, "ann").await.unwrap();
            case(fixture, &value).await;
        });
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// Checks one invariant after every step of random sequences.
fn hold(name: &str, engine: fn() -> Engine, cases: u32, invariant: for<'w> fn(&'w World<'_>) -> invariants::Check<'w>) {
    run(name, engine, cases, &operations::sequences(), async |fixture, sequence| {
        let mut world = World::new(fixture);
        for operation in sequence {
            world.step(operation).await;
            invariant(&world).await;
        }
    });
}

fn declared_changes(engine: fn() -> Engine, cases: u32) {
    let name = "declared changes";
    run(name, engine, cases, &declared::sequences(), declared::the_last_change_of_each_deployment_wins);
}

fn published_versions(engine: fn() -> Engine, cases: u32) {
    let name = "published versions";
    let case = published::numbers_are_never_reused_and_versions_in_use_stay;
    run(name, engine, cases, &published::sequences(), case);
}

fn checked_releases(engine: fn() -> Engine, cases: u32) {
    let name = "checked releases";
    let case = checked::invariant_12_functions_that_fail_to_load_are_never_latest_or_followed;
    run(name, engine, cases, &checked::sequences(), case);
}

fn one_history(engine: fn() -> Engine, cases: u32) {
    run("one history", engine, cases, &one_history::sequences(), async |fixture, steps| {
        Box::pin(one_history::invariant_10_a_node_serves_what_the_ledger_holds(fixture, steps)).await;
    });
}

fn rolled_out(engine: fn() -> Engine, cases: u32) {
    let name = "rollouts";
    let case = rolled::rollout_invariant_12_nothing_that_settles_live_moves_it_while_a_rollout_is_open;
    run(name, engine, cases, &rolled::sequences(), case);
}

macro_rules! invariants {
    ($($invariant:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $invariant() {
                super::hold(stringify!($invariant), super::Engine::sqlite, 24, super::invariants::$invariant);
            })*

            #[test]
            fn the_last_change_of_each_deployment_wins() {
                super::declared_changes(super::Engine::sqlite, 32);
            }

            #[test]
            fn numbers_are_never_reused_and_versions_in_use_stay() {
                super::published_versions(super::Engine::sqlite, 33);
            }

            #[test]
            fn invariant_12_functions_that_fail_to_load_are_never_latest_or_followed() {
                super::checked_releases(super::Engine::sqlite, 48);
            }

            #[test]
            fn invariant_10_a_node_serves_what_the_ledger_holds() {
                super::one_history(super::Engine::sqlite, 48);
            }

            #[tokio::test]
            async fn a_cut_is_recorded_once() {
                super::one_history::a_cut_is_recorded_once(&mut super::Fixture::new(super::Engine::sqlite()).await).await;
            }

            #[test]
            fn rollout_invariant_12_nothing_that_settles_live_moves_it_while_a_rollout_is_open() {
                super::rolled_out(super::Engine::sqlite, 48);
            }
        }
        mod postgres {
            $(#[test]
            fn $invariant() {
                super::hold(stringify!($invariant), super::Engine::postgres, 3, super::invariants::$invariant);
            })*

            #[test]
            fn the_last_change_of_each_deployment_wins() {
                super::declared_changes(super::Engine::postgres, 4);
            }

            #[test]
            fn numbers_are_never_reused_and_versions_in_use_stay() {
                super::published_versions(super::Engine::postgres, 5);
            }

            #[test]
            fn invariant_12_functions_that_fail_to_load_are_never_latest_or_followed() {
                super::checked_releases(super::Engine::postgres, 5);
            }

            #[test]
            fn invariant_10_a_node_serves_what_the_ledger_holds() {
                super::one_history(super::Engine::postgres, 5);
            }

            #[tokio::test]
            async fn a_cut_is_recorded_once() {
                super::one_history::a_cut_is_recorded_once(&mut super::Fixture::new(super::Engine::postgres()).await).await;
            }

            #[test]
            fn rollout_invariant_12_nothing_that_settles_live_moves_it_while_a_rollout_is_open() {
                super::rolled_out(super::Engine::postgres, 5);
            }
        }
    };
}

invariants!(
    invariant_1_versions_and_their_names_never_change,
    invariant_2_no_pointer_dangles,
    invariant_3_app_versions_are_complete_and_stay_as_they_were,
    invariant_5_referenced_blobs_are_never_swept,
    invariant_7_equal_content_is_stored_once,
    invariant_8_every_move_and_snapshot_is_in_the_event_log,
);

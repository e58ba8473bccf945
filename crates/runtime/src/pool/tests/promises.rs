//! The pool's invariants under random sequences of events: calls arrive, leave, break their slot or
//! kill their instance, instances die, starts fail or hang, and in the end the pool is stopped.

use std::sync::atomic::Ordering;
use std::time::Duration;

use milepost_model::spec::Scale;
use proptest::prelude::*;
use tokio::time::Instant;

use super::fake::{Place, pass};

#[derive(Debug, Clone)]
enum Step {
    Call(&'static str),
    /// Aborts the call that is this many before the last one.
    Leave(usize),
    Kill(usize),
    FailStarts(usize),
    HangStarts(usize),
    Keep(u32),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => prop_oneof![
            Just("/run/0"), Just("/run/3"), Just("/run/40"), Just("/stream/2"), Just("/break"), Just("/die/4"),
        ].prop_map(Step::Call),
        2 => (0_usize..6).prop_map(Step::Leave),
        1 => (0_usize..8).prop_map(Step::Kill),
        1 => (1_usize..3).prop_map(Step::FailStarts),
        1 => (1_usize..3).prop_map(Step::HangStarts),
        1 => (0_u32..4).prop_map(Step::Keep),
        4 => (0_u64..25).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_one_outcome_and_no_slot_is_lost_or_shared(
        steps in steps(),
        max in 1_u32..5,
        concurrency in 1_u32..4,
        recycle in prop_oneof![Just(u64::MAX), 2_u64..6],
        idle_ms in prop_oneof![Just(60_000), 5_u64..50],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps, Scale { min: 0, max, concurrency, idle_ms }, recycle));
    }
}

async fn run(steps: Vec<Step>, scale: Scale, recycle: u64) {
    let max = scale.max as usize;
    let place = Place::with(scale, |settings| settings.recycle = recycle);
    let shop = "shop".parse().unwrap();
    let mut calls = Vec::new();
    for step in steps {
        match step {
            Step::Call(path) => calls.push(tokio::spawn(place.call(calls.len(), path))),
            Step::Leave(back) => {
                if let Some(call) = calls.len().checked_sub(back + 1).and_then(|at| calls.get(at)) {
                    call.abort();
                }
            }
            Step::Kill(which) => place.world.kill(which),
            Step::FailStarts(count) => place.world.failing.store(count, Ordering::SeqCst),
            Step::HangStarts(count) => place.world.hanging.store(count, Ordering::SeqCst),
            Step::Keep(count) => place.pools.keep_warm(&shop, &[(place.function.clone(), count)]),
            Step::Pass(ms) => pass(ms).await,
        }
        assert!(place.most_alive() <= max, "{} instances, and {max} is the most", place.most_alive());
    }
    place.pools.keep_warm(&shop, &[]);
    place.world.failing.store(0, Ordering::SeqCst);
    place.world.hanging.store(0, Ordering::SeqCst);
    let deadline = Instant::now() + Duration::from_secs(50);
    for call in calls {
        // A task error is an aborted call, anything else is its one outcome. No call may wait
        // forever.
        let outcome = tokio::time::timeout_at(deadline, call).await;
        assert!(outcome.is_ok(), "a call got no outcome");
    }
    // Hanging starts time out.
    pass(6_000).await;
    for pool in place.pools.status(&shop) {
        assert_eq!((pool.busy, pool.queued, pool.starting), (0, 0, 0), "nothing runs, so nothing is busy");
    }
    place.pools.assert_whole();
    assert_eq!(place.world.shared_slots.load(Ordering::SeqCst), 0, "a slot was with two calls");
    assert!(place.most_alive() <= max);
    place.pools.stop(Instant::now() + Duration::from_secs(1)).await;
    assert_eq!(place.alive(), 0, "stopping left instances");
}

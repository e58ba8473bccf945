//! One test per rule of the pool.

use std::sync::atomic::Ordering;

use milepost_model::AppName;

use super::fake::{Place, pass, scale};
use crate::call::CallError;
use crate::pool::PoolStatus;

fn shop() -> AppName {
    "shop".parse().unwrap()
}

fn status(place: &Place) -> PoolStatus {
    place.pools.status(&shop()).remove(0)
}

#[tokio::test(start_paused = true)]
async fn serves_waiting_calls_in_order() {
    let place = Place::new(scale(1, 1));
    let calls: Vec<_> = (0..50).map(|id| tokio::spawn(place.call(id, "/run/3"))).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(place.begun(), (0..50).collect::<Vec<_>>());
    assert_eq!(place.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leaving_waiter_neither_loses_a_slot_nor_blocks_the_next() {
    let place = Place::new(scale(1, 1));
    let first = tokio::spawn(place.call(0, "/run/100"));
    pass(20).await;
    let leaves = tokio::spawn(place.call(1, "/run/1"));
    let last = tokio::spawn(place.call(2, "/run/1"));
    pass(1).await;
    assert_eq!(status(&place).queued, 2);
    leaves.abort();
    pass(1).await;
    assert_eq!(status(&place).queued, 1);
    first.await.unwrap().unwrap();
    last.await.unwrap().unwrap();
    assert_eq!(place.begun(), [0, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_with_a_slot_passes_it_on() {
    let place = Place::new(scale(1, 1));
    let first = tokio::spawn(place.call(0, "/run/100"));
    pass(50).await;
    let mut second = Box::pin(place.call(1, "/run/1"));
    assert!(futures::poll!(&mut second).is_pending());
    let third = tokio::spawn(place.call(2, "/run/1"));
    // The second call has the slot now, and is never polled again.
    first.await.unwrap().unwrap();
    drop(second);
    third.await.unwrap().unwrap();
    assert_eq!(place.begun(), [0, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_with_a_retry_delay() {
    let place = Place::with(scale(2, 1), |settings| settings.queue_per_place = 3);
    let calls: Vec<_> = (0..8).map(|id| tokio::spawn(place.call(id, "/run/50"))).collect();
    pass(30).await;
    // Six calls may wait for two slots. Two of them run by now.
    let late: Vec<_> = (8..10).map(|id| tokio::spawn(place.call(id, "/run/50"))).collect();
    let mut refused = 0;
    for call in calls.into_iter().chain(late) {
        match call.await.unwrap() {
            Ok(()) => {}
            Err(CallError::Busy { retry_after, waited: None }) => {
                assert!(!retry_after.is_zero());
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(refused, 2);
    assert_eq!(place.most_alive(), 2);
}

#[tokio::test(start_paused = true)]
async fn reuses_the_last_used_slot_so_that_others_go_idle() {
    let mut sleepy = scale(4, 1);
    sleepy.idle_ms = 1_000;
    let place = Place::new(sleepy);
    futures::future::join_all((0..4).map(|id| place.call(id, "/run/5"))).await;
    assert_eq!(place.alive(), 4);
    for id in 4..40 {
        place.call(id, "/run/1").await.unwrap();
        pass(100).await;
    }
    assert_eq!(place.alive(), 1, "one was enough, so the others sleep");
    pass(2_000).await;
    assert_eq!(place.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn kept_instances_never_go_idle_and_are_replaced_when_they_die() {
    let mut sleepy = scale(4, 1);
    sleepy.idle_ms = 100;
    let place = Place::new(sleepy);
    place.pools.keep_warm(&shop(), &[(place.function.clone(), 2)]);
    pass(1_000).await;
    assert_eq!((place.alive(), place.starts()), (2, 2));
    place.world.kill(0);
    pass(1_000).await;
    assert_eq!((place.alive(), place.starts()), (2, 3));
    assert_eq!(status(&place).restarts, 1);
}

#[tokio::test(start_paused = true)]
async fn keeps_a_warm_instance_for_a_rollback_for_a_while() {
    let mut sleepy = scale(4, 1);
    sleepy.idle_ms = 100;
    let place = Place::new(sleepy);
    place.pools.keep_warm(&shop(), &[(place.function.clone(), 2)]);
    pass(1_000).await;
    place.pools.keep_warm(&shop(), &[]);
    pass(10_000).await;
    assert_eq!(place.alive(), 1);
    place.call(1, "/run/1").await.unwrap();
    assert_eq!(place.starts(), 2, "the rollback was not a cold start");
    pass(3_700_000).await;
    assert_eq!(place.alive(), 0);
}

/// The minimum is 0, so only the idle time counts, and that had passed long before.
#[tokio::test(start_paused = true)]
async fn a_rollback_does_not_stop_the_instance_it_returns_to() {
    let mut sleepy = scale(4, 1);
    sleepy.idle_ms = 1_000;
    let place = Place::new(sleepy);
    let live = [(place.function.clone(), 0)];
    place.pools.keep_warm(&shop(), &live);
    place.call(1, "/run/1").await.unwrap();
    place.pools.keep_warm(&shop(), &[]);
    pass(60_000).await;
    assert_eq!(place.alive(), 1, "it is kept for a rollback");
    place.pools.keep_warm(&shop(), &live);
    pass(500).await;
    assert_eq!(place.alive(), 1, "the rollback put it to sleep");
    // Refreshed views do not extend the idle time.
    place.pools.keep_warm(&shop(), &live);
    pass(600).await;
    assert_eq!((place.alive(), place.starts()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn starts_the_replacement_before_recycling_an_instance() {
    let place = Place::with(scale(2, 1), |settings| settings.recycle = 10);
    for id in 0..25 {
        place.call(id, "/run/20").await.unwrap();
    }
    pass(100).await;
    assert_eq!((place.starts(), place.alive()), (3, 1));
    assert!(place.most_alive() <= 2);
}

#[tokio::test(start_paused = true)]
async fn recycles_an_instance_when_the_pool_is_at_its_maximum() {
    let place = Place::with(scale(1, 1), |settings| settings.recycle = 5);
    for id in 0..12 {
        place.call(id, "/run/1").await.unwrap();
    }
    assert_eq!((place.starts(), place.most_alive()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_fails_its_waiters_and_the_next_call_retries() {
    let place = Place::new(scale(1, 1));
    place.world.failing.store(1, Ordering::SeqCst);
    let outcomes = futures::future::join_all((0..3).map(|id| place.call(id, "/run/1"))).await;
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert!(matches!(&error, CallError::NotReady { reason } if reason == "it would not"), "{error}");
    }
    place.call(3, "/run/1").await.unwrap();
    assert_eq!(place.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn reports_unfetched_code_apart_from_failed_starts() {
    let place = Place::new(scale(1, 1));
    place.world.unfetched.store(1, Ordering::SeqCst);
    place.world.failing.store(1, Ordering::SeqCst);
    let error = place.call(0, "/run/1").await.unwrap_err();
    assert!(matches!(&error, CallError::NotFetched { reason } if reason.contains("blob store")), "{error}");
    let error = place.call(1, "/run/1").await.unwrap_err();
    assert!(matches!(&error, CallError::NotReady { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn backs_off_while_starts_keep_failing() {
    let place = Place::new(scale(1, 1));
    place.world.failing.store(usize::MAX, Ordering::SeqCst);
    for id in 0..1_000 {
        place.call(id, "/run/1").await.unwrap_err();
        pass(10).await;
    }
    // Backoff of 0, 0, 100, 200, 400, … ms in some ten seconds.
    assert!((6..=10).contains(&place.starts()), "{} starts", place.starts());
    assert_eq!(status(&place).recent_errors.len(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_start_times_out() {
    let place = Place::with(scale(1, 1), |settings| settings.start = std::time::Duration::from_millis(5));
    let error = place.call(0, "/run/1").await.unwrap_err();
    assert!(error.to_string().contains("was not ready within 0.005 s"), "{error}");
    assert_eq!(place.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_dead_instance_runs_on_another() {
    let place = Place::new(scale(2, 1));
    place.call(0, "/run/1").await.unwrap();
    place.world.kill(0);
    // The pool has not noticed yet.
    place.call(1, "/run/1").await.unwrap();
    assert_eq!(place.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn stopping_drains_calls_and_refuses_new_ones() {
    let place = Place::new(scale(1, 1));
    let runs = tokio::spawn(place.call(0, "/run/500"));
    pass(50).await;
    let waits = tokio::spawn(place.call(1, "/run/10"));
    pass(1).await;
    let pools = place.pools.clone();
    let stop =
        tokio::spawn(async move { pools.stop(tokio::time::Instant::now() + std::time::Duration::from_secs(5)).await });
    pass(1).await;
    assert!(matches!(place.call(2, "/run/1").await, Err(CallError::Stopping)));
    stop.await.unwrap();
    runs.await.unwrap().unwrap();
    waits.await.unwrap().unwrap();
    assert_eq!(place.alive(), 0);
    assert!(matches!(place.call(3, "/run/1").await, Err(CallError::Stopping)));
}

#[tokio::test(start_paused = true)]
async fn stopping_kills_calls_that_run_past_the_deadline() {
    let place = Place::new(scale(1, 1));
    let runs = tokio::spawn(place.call(0, "/run/100000"));
    pass(50).await;
    let waits = tokio::spawn(place.call(1, "/run/10"));
    pass(1).await;
    place.pools.stop(tokio::time::Instant::now() + std::time::Duration::from_secs(1)).await;
    assert!(matches!(runs.await.unwrap(), Err(CallError::Crashed { .. })));
    assert!(matches!(waits.await.unwrap(), Err(CallError::Stopping)));
    assert_eq!(place.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unused_pool_is_removed_and_created_again() {
    let mut sleepy = scale(1, 1);
    sleepy.idle_ms = 100;
    let place = Place::new(sleepy);
    place.call(0, "/run/1").await.unwrap();
    pass(1_000).await;
    assert_eq!(place.pools.status(&shop()).len(), 1);
    pass(700_000).await;
    assert_eq!(place.pools.status(&shop()).len(), 0);
    place.call(1, "/run/1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn keeps_requested_instances_for_a_while_and_stops_idle_ones_first() {
    let mut sleepy = scale(4, 1);
    sleepy.idle_ms = 100;
    let place = Place::with(sleepy, |settings| settings.keep_for_rollback = std::time::Duration::from_secs(60));
    let let_go = |most, least| place.pools.let_go(&shop(), &place.function.name, place.function.number, most, least);
    place.pools.warm_up(&place.function, 2);
    pass(1_000).await;
    assert_eq!(place.alive(), 2, "they do not sleep");
    place.pools.warm_up(&place.function, 9);
    pass(1_000).await;
    assert_eq!((place.alive(), status(&place).ids.len()), (4, 4), "never more than the function may have");
    let running = tokio::spawn(place.call(0, "/run/500"));
    pass(10).await;
    let_go(9, 1);
    pass(10).await;
    assert_eq!(status(&place).ids.len(), 1);
    running.await.unwrap().unwrap();
    pass(1_000).await;
    assert_eq!(place.alive(), 1, "the one that ran is the one that stayed");
    let_go(usize::MAX, 0);
    pass(10).await;
    assert_eq!(place.alive(), 0);
    place.call(1, "/run/1").await.unwrap();
    place.pools.warm_up(&place.function, 1);
    pass(61_000).await;
    assert_eq!(place.alive(), 0, "after a while they sleep as others do");
}

//! The errors that callers get, and when, while instances do not become ready.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::fake::{Place, pass, scale};
use crate::call::CallError;
use crate::pool::PoolSettings;

/// Starts time out after five seconds, long before a call stops waiting.
fn patient(settings: &mut PoolSettings) {
    settings.start = Duration::from_secs(5);
    settings.wait = Duration::from_secs(60);
}

/// The outcome of a call and its duration in seconds.
async fn timed(call: impl Future<Output = Result<(), CallError>>) -> (Result<(), CallError>, f64) {
    let begun = Instant::now();
    let outcome = call.await;
    (outcome, begun.elapsed().as_secs_f64())
}

#[tokio::test(start_paused = true)]
async fn waiting_in_vain_for_a_first_instance_is_not_reported_as_busy() {
    let place = Place::with(scale(2, 1), |settings| {
        settings.start = Duration::from_secs(6);
        settings.wait = Duration::from_secs(5);
    });
    place.world.hanging.store(usize::MAX, Ordering::SeqCst);
    let calls = futures::future::join_all((0..3).map(|id| timed(place.call(id, "/run/1")))).await;
    for (outcome, took) in calls {
        let error = outcome.unwrap_err();
        assert!(matches!(error, CallError::NotReady { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("was not ready within 5 s"), "{said}");
        assert!(said.contains("its log has what it printed"), "{said}");
        assert!(took < 5.1, "{took} s");
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_longer_than_one_failing_start() {
    let place = Place::with(scale(8, 1), patient);
    place.world.hanging.store(usize::MAX, Ordering::SeqCst);
    let mut calls = Vec::new();
    for id in 0..30 {
        calls.push(tokio::spawn(timed(place.call(id, "/run/1"))));
        pass(2_000).await;
    }
    for call in calls {
        let (outcome, took) = call.await.unwrap();
        let error = outcome.unwrap_err();
        assert!(matches!(&error, CallError::NotReady { reason } if reason.contains("within 5 s")), "{error}");
        assert!(took < 5.1, "{took} s");
    }
    // Three before the first timed out, then one at a time.
    assert!((4..=14).contains(&place.starts()), "{} starts in a minute", place.starts());
    pass(10_000).await;
    assert_eq!(place.alive(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_failures_tries_one_instance_before_starting_others() {
    let place = Place::new(scale(8, 1));
    place.world.failing.store(8, Ordering::SeqCst);
    let eight = |from: usize| futures::future::join_all((from..from + 8).map(|id| place.call(id, "/run/100")));
    assert!(eight(0).await.iter().all(Result::is_err));
    assert_eq!(place.starts(), 8);
    pass(11_000).await;
    place.world.failing.store(1, Ordering::SeqCst);
    assert!(eight(8).await.iter().all(Result::is_err));
    assert_eq!(place.starts(), 9, "the one that was tried failed for all");
    pass(11_000).await;
    assert!(eight(16).await.iter().all(Result::is_ok));
    assert_eq!((place.starts(), place.most_alive()), (17, 8));
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_healthy_instance_while_other_starts_fail() {
    let place = Place::with(scale(3, 1), patient);
    let long = tokio::spawn(place.call(0, "/run/30000"));
    pass(100).await;
    place.world.hanging.store(usize::MAX, Ordering::SeqCst);
    let waits = futures::future::join_all((1..5).map(|id| place.call(id, "/run/10"))).await;
    long.await.unwrap().unwrap();
    for outcome in waits {
        outcome.unwrap();
    }
    assert_eq!(place.begun(), [0, 1, 2, 3, 4]);
    // Two for the calls that waited, then one at a time, for five seconds each and with backoff.
    assert!(place.starts() <= 9, "{} starts in thirty seconds", place.starts());
}

#[tokio::test(start_paused = true)]
async fn a_busy_error_has_the_waiting_time() {
    let place = Place::with(scale(1, 1), |settings| settings.wait = Duration::from_secs(3));
    let long = tokio::spawn(place.call(0, "/run/10000"));
    pass(100).await;
    let error = place.call(1, "/run/1").await.unwrap_err();
    assert_eq!(error.to_string(), "all instances are busy and none was free within 3 s");
    long.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_reports_why_starts_fail_once_known() {
    let place = Place::with(scale(1, 1), |settings| {
        patient(settings);
        settings.queue_per_place = 1;
    });
    place.world.hanging.store(usize::MAX, Ordering::SeqCst);
    for (id, known) in [(0, false), (10, true)] {
        let waits = tokio::spawn(place.call(id, "/run/1"));
        pass(100).await;
        let error = place.call(id + 1, "/run/1").await.unwrap_err();
        assert_eq!(matches!(error, CallError::NotReady { .. }), known, "{error}");
        waits.await.unwrap().unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn backs_off_when_instances_end_before_serving_a_call() {
    let place = Place::new(scale(2, 1));
    place.world.short_lived.store(true, Ordering::SeqCst);
    place.pools.keep_warm(&"shop".parse().unwrap(), &[(place.function.clone(), 1)]);
    pass(10_000).await;
    assert!((6..=10).contains(&place.starts()), "{} starts", place.starts());
    place.world.short_lived.store(false, Ordering::SeqCst);
    pass(20_000).await;
    assert_eq!(place.alive(), 1);
}

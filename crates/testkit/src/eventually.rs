//! Waits for a condition that no event announces.

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// Short enough not to matter, long enough to leave the cores to the awaited work.
const PAUSE: Duration = Duration::from_millis(5);

/// Polls `condition` until it holds. Fails the test at the caller's line if it does not within
/// `deadline`.
///
/// Only for conditions without an event to wait for. A fixed sleep is never right.
#[track_caller]
pub fn eventually<F, Fut>(deadline: Duration, mut condition: F) -> impl Future<Output = ()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let caller = Location::caller();
    async move {
        let started = Instant::now();
        while !condition().await {
            assert!(started.elapsed() < deadline, "the condition at {caller} did not hold within {deadline:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Like [`eventually`], for tests without an async runtime.
#[track_caller]
pub fn eventually_blocking(deadline: Duration, mut condition: impl FnMut() -> bool) {
    let caller = Location::caller();
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < deadline, "the condition at {caller} did not hold within {deadline:?}");
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn polls_until_the_condition_holds() {
        let mut asked = 0;
        eventually(Duration::from_secs(5), || {
            asked += 1;
            let done = asked == 3;
            async move { done }
        })
        .await;
        assert_eq!(asked, 3);
    }

    #[test]
    fn gives_up_after_the_deadline() {
        let outcome = std::panic::catch_unwind(|| eventually_blocking(Duration::ZERO, || false));
        let message = *outcome.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("eventually.rs"), "{message}");
    }
}

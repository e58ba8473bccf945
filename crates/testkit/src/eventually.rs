//! Waiting for a condition that announces itself by no event.

use std::panic::Location;
use std::thread;
use std::time::{Duration, Instant};

/// Short enough not to be felt, long enough to leave the cores to what is waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// Asks `condition` until it holds, and fails the test at the caller's line when it does not within `deadline`.
///
/// Only for what gives no event to wait for; a fixed sleep is never right.
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

/// [`eventually`] for tests without a runtime.
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
    async fn asks_again_until_the_condition_holds() {
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

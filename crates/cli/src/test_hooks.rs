//! Deterministic ids and times for snapshot tests. Only tests may set these variables: seeded ids
//! are guessable.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use milepost_model::clock::from_millis;
use milepost_model::{Clock, IdSource, OsIds, SeededIds, SystemClock, Timestamp};

/// Advances by one second on each read, so that every request gets a distinct time.
struct SteppingClock(AtomicI64);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        from_millis(self.0.fetch_add(1000, Ordering::SeqCst))
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// A real clock that is off by this many milliseconds.
struct AheadClock(i64);

impl Clock for AheadClock {
    fn now(&self) -> Timestamp {
        from_millis(SystemClock.now().as_millisecond() + self.0)
    }
}

/// Whether the clock advances only when it is read.
pub fn stops_time() -> bool {
    std::env::var_os("MILEPOST_TEST_CLOCK").is_some()
}

pub fn clock() -> Arc<dyn Clock> {
    match std::env::var("MILEPOST_TEST_CLOCK").ok().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(start) => Arc::new(SteppingClock(AtomicI64::new(start.as_millisecond()))),
        None => match std::env::var("MILEPOST_TEST_CLOCK_AHEAD").ok().and_then(|seconds| seconds.parse::<i64>().ok()) {
            Some(seconds) => Arc::new(AheadClock(seconds * 1000)),
            None => Arc::new(SystemClock),
        },
    }
}

pub fn ids() -> Arc<dyn IdSource> {
    match std::env::var("MILEPOST_TEST_SEED").ok().and_then(|text| text.parse().ok()) {
        Some(seed) => Arc::new(SeededIds::new(seed)),
        None => Arc::new(OsIds),
    }
}

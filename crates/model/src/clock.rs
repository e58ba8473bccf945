//! Time, always passed in. `clippy.toml` bans direct calls to the system clock.

use std::sync::atomic::{AtomicI64, Ordering};

pub use jiff::Timestamp;

/// The source of the current time. Read once per change, so that everything in a change has the
/// same time.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Whether this clock replaces real time, also that of a database. In tests.
    fn is_simulated(&self) -> bool {
        false
    }
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now(&self) -> Timestamp {
        truncate(Timestamp::now())
    }
}

/// A clock that tests advance by hand.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millisecond()))
    }

    pub fn advance_ms(&self, by: i64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        from_millis(self.0.load(Ordering::SeqCst))
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// Times are stored and printed with millisecond precision, so a printed time identifies the exact
/// moment.
pub fn truncate(at: Timestamp) -> Timestamp {
    from_millis(at.as_millisecond())
}

/// Milliseconds outside the range of a timestamp (a damaged row) become the nearest representable
/// time.
pub fn from_millis(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

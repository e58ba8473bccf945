//! Time, always passed in. `clippy.toml` bans the direct calls.

use std::sync::atomic::{AtomicI64, Ordering};

pub use jiff::Timestamp;

/// Where the present comes from. Asked once per change, so that everything one change makes has one time.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now(&self) -> Timestamp {
        truncate(Timestamp::now())
    }
}

/// A clock that tests move by hand.
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
}

/// Times are kept to the millisecond everywhere, so a time that was printed finds the moment it names.
pub fn truncate(at: Timestamp) -> Timestamp {
    from_millis(at.as_millisecond())
}

/// Milliseconds outside what a timestamp can hold (a damaged row) become the nearest representable time.
pub fn from_millis(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

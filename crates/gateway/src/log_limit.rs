//! Rate limit for log lines that untrusted clients can trigger.

use std::sync::Mutex;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(10);

/// Limits one kind of log line.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<Option<Instant>>);

impl LogLimit {
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether the line may be written now. May return false while another thread is checking.
    pub fn is_due(&self) -> bool {
        let Ok(mut last) = self.0.try_lock() else { return false };
        let now = Instant::now();
        let due = last.is_none_or(|last| now.duration_since(last) >= EVERY);
        if due {
            *last = Some(now);
        }
        due
    }
}

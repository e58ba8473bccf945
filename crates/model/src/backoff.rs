//! Delays between attempts.

use std::time::Duration;

/// Exponential backoff: each delay is twice the one before, up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The delay after this many failures in a row. Zero without any.
    pub fn after(self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        self.first.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(self.longest)
    }

    /// Counts a failure and returns the delay before the next attempt.
    pub fn next_delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.after(self.failures)
    }

    /// Begins anew, after a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_restart_after_a_success() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(700));
        assert_eq!([(); 5].map(|()| backoff.next_delay()), [100, 200, 400, 700, 700].map(ms));
        backoff.reset();
        assert_eq!(backoff.next_delay(), ms(100));
        assert_eq!(backoff.after(0), Duration::ZERO);
        assert_eq!(backoff.after(u32::MAX), ms(700), "does not overflow");
    }
}

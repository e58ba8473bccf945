//! A minimum transfer rate. A sender of one byte now and then is never silent, and would hold a
//! connection forever.

use std::time::Duration;

/// Bytes per second.
pub(crate) const SLOWEST: u64 = 10_000;
const WINDOW: Duration = Duration::from_secs(60);

/// Counts received bytes per time spent waiting.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    waited: Duration,
    came: u64,
}

impl Pace {
    /// Returns false if too few bytes arrived in the last minute of waiting. Silence has a deadline
    /// of its own, so this is called often enough.
    pub(crate) fn keeps_up(&mut self, waited: Duration, came: u64) -> bool {
        self.waited += waited;
        self.came += came;
        if self.waited < WINDOW {
            return true;
        }
        let enough = self.came >= SLOWEST.saturating_mul(self.waited.as_secs());
        *self = Self::default();
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these chunks are accepted, up to ten thousand.
    fn taken(every: Duration, bytes: u64) -> usize {
        let mut pace = Pace::default();
        (0..10_000).take_while(|_| pace.keeps_up(every, bytes)).count()
    }

    #[test]
    fn trickling_sender_is_rejected_after_a_minute() {
        assert_eq!(taken(Duration::from_secs(29), 1), 2);
        assert_eq!(taken(Duration::from_secs(1), SLOWEST - 1), 59);
    }

    #[test]
    fn minimum_rate_is_accepted_for_hours() {
        assert_eq!(taken(Duration::from_secs(1), SLOWEST), 10_000);
        assert_eq!(taken(Duration::from_secs(25), SLOWEST * 25), 10_000);
    }

    #[test]
    fn slow_reader_does_not_count() {
        assert_eq!(taken(Duration::ZERO, 1), 10_000);
    }
}

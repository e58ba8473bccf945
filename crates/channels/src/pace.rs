//! The least speed of whoever sends: one byte now and then is no silence, and would hold a connection for ever.

use std::time::Duration;

/// Bytes a second.
pub(crate) const SLOWEST: u64 = 10_000;
const WINDOW: Duration = Duration::from_secs(60);

/// Counts what came in how much waiting.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    waited: Duration,
    came: u64,
}

impl Pace {
    /// False when less came in the last minute of waiting than must come. Silence has a deadline of its own, so this is asked
    /// often enough.
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

    /// How many of these chunks are taken, ten thousand at most.
    fn taken(every: Duration, bytes: u64) -> usize {
        let mut pace = Pace::default();
        (0..10_000).take_while(|_| pace.keeps_up(every, bytes)).count()
    }

    #[test]
    fn a_byte_now_and_then_is_too_slow_after_a_minute() {
        assert_eq!(taken(Duration::from_secs(29), 1), 2);
        assert_eq!(taken(Duration::from_secs(1), SLOWEST - 1), 59);
    }

    #[test]
    fn the_least_speed_is_kept_for_hours() {
        assert_eq!(taken(Duration::from_secs(1), SLOWEST), 10_000);
        assert_eq!(taken(Duration::from_secs(25), SLOWEST * 25), 10_000);
    }

    #[test]
    fn a_reader_that_takes_its_time_does_not_count() {
        assert_eq!(taken(Duration::ZERO, 1), 10_000);
    }
}

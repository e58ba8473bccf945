//! How often each webhook may be called on this node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Calls a second that a webhook takes over time.
pub(super) const PER_SECOND: u32 = 20;
/// Calls at once after a rest.
const BURST: u32 = 40;
/// Above so many webhooks those that rest are forgotten.
const REMEMBERED: usize = 4096;
const ONE: Duration = Duration::from_millis(1000 / PER_SECOND as u64);

/// For each webhook the moment at which it will have rested: one call moves it by what a call costs, and it may not be
/// further away than a burst.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<HashMap<String, Instant>>);

impl Calls {
    /// Whether the webhook may be called now; then the call is counted.
    pub fn take(&self, id: &str, now: Instant) -> bool {
        let mut rested = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rested.len() >= REMEMBERED && !rested.contains_key(id) {
            rested.retain(|_, at| *at > now);
        }
        let before = rested.get(id).copied().unwrap_or(now).max(now);
        let after = before + ONE;
        let fits = after <= now + ONE * BURST;
        if fits {
            rested.insert(id.to_owned(), after);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(calls: &Calls, id: &str, now: Instant) -> usize {
        std::iter::repeat_with(|| calls.take(id, now)).take_while(|taken| *taken).count()
    }

    #[test]
    fn a_burst_goes_and_then_so_many_a_second() {
        let (calls, now) = (Calls::default(), Instant::now());
        assert_eq!(taken(&calls, "a", now), 40);
        assert_eq!(taken(&calls, "b", now), 40, "each webhook has its own");
        assert_eq!(taken(&calls, "a", now + Duration::from_millis(49)), 0);
        assert_eq!(taken(&calls, "a", now + Duration::from_secs(1)), 20);
        assert_eq!(taken(&calls, "a", now + Duration::from_secs(60)), 40, "a rest does not add up beyond a burst");
    }

    #[test]
    fn webhooks_that_rest_are_forgotten_and_others_are_not() {
        let (calls, now) = (Calls::default(), Instant::now());
        for number in 0..REMEMBERED {
            assert!(calls.take(&number.to_string(), now));
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(taken(&calls, "busy", later), 40);
        assert!(calls.take("another", later));
        assert_eq!(calls.0.lock().expect("nobody panicked").len(), 2);
        assert!(!calls.take("busy", later));
    }
}

//! Rate limit of each webhook on this node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sustained calls per second.
pub(super) const PER_SECOND: u32 = 20;
/// Maximum burst.
const BURST: u32 = 40;
/// Above this many webhooks, idle ones are forgotten.
const REMEMBERED: usize = 4096;
const ONE: Duration = Duration::from_millis(1000 / PER_SECOND as u64);

/// The time at which each webhook is idle again. Each call moves it by the cost of one call, and it
/// may be at most one burst ahead.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<HashMap<String, Instant>>);

impl Calls {
    /// Returns whether the webhook may be called now, and counts the call if so.
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
    fn allows_a_burst_and_then_the_sustained_rate() {
        let (calls, now) = (Calls::default(), Instant::now());
        assert_eq!(taken(&calls, "a", now), 40);
        assert_eq!(taken(&calls, "b", now), 40, "each webhook has its own");
        assert_eq!(taken(&calls, "a", now + Duration::from_millis(49)), 0);
        assert_eq!(taken(&calls, "a", now + Duration::from_secs(1)), 20);
        assert_eq!(taken(&calls, "a", now + Duration::from_secs(60)), 40, "a rest does not add up beyond a burst");
    }

    #[test]
    fn forgets_only_idle_webhooks() {
        let (calls, now) = (Calls::default(), Instant::now());
        for number in 0..REMEMBERED {
            assert!(calls.take(&number.to_string(), now));
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(taken(&calls, "busy", later), 40);
        assert!(calls.take("another", later));
        assert_eq!(calls.0.lock().expect("not poisoned").len(), 2);
        assert!(!calls.take("busy", later));
    }
}

//! Whether this node is able to start executions. One that keeps failing for reasons of its own
//! steps back, so that other nodes run them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Starts that fail in a row before the node steps back.
const IN_A_ROW: u32 = 5;
/// How long it claims nothing then. After that it tries one execution.
const STEP_BACK: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Able(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    failed: u32,
    why: String,
    until: Option<Instant>,
}

impl Able {
    pub(super) fn started(&self) {
        let mut recent = self.lock();
        if recent.until.is_some() {
            tracing::info!("this node starts executions again");
        }
        *recent = Recent::default();
    }

    /// Notes that an execution could not be started for a reason of this node.
    pub(super) fn failed(&self, why: &str, now: Instant) {
        let mut recent = self.lock();
        recent.failed = recent.failed.saturating_add(1);
        why.clone_into(&mut recent.why);
        if recent.failed >= IN_A_ROW {
            if recent.until.is_none() {
                tracing::error!(why, "this node cannot start executions and leaves them to others");
            }
            recent.until = Some(now + STEP_BACK);
        }
    }

    /// How many of the free places may be used.
    pub(super) fn places(&self, free: usize, now: Instant) -> usize {
        match self.lock().until {
            None => free,
            Some(until) if now < until => 0,
            Some(_) => free.min(1),
        }
    }

    /// Says why this node claims nothing.
    pub(crate) fn remark(&self) -> Option<String> {
        let recent = self.lock();
        recent.until.map(|_| {
            format!(
                "this node leaves executions to others, because it could not start {} in a row: {}",
                recent.failed, recent.why
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_steps_back_after_five_failures_and_tries_one_after_a_minute() {
        let (able, now) = (Able::default(), Instant::now());
        for _ in 0..4 {
            able.failed("no space left on device", now);
        }
        assert_eq!((able.places(8, now), able.remark()), (8, None));
        able.started();
        for _ in 0..5 {
            able.failed("no space left on device", now);
        }
        assert_eq!(able.places(8, now), 0);
        assert!(able.remark().is_some_and(|remark| remark.ends_with("5 in a row: no space left on device")));
        let later = now + STEP_BACK;
        assert_eq!(able.places(8, later), 1);
        able.failed("no space left on device", later);
        assert_eq!(able.places(8, later), 0);
        able.started();
        assert_eq!((able.places(8, later), able.remark()), (8, None));
    }
}

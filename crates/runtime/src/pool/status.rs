//! What `milepost status` shows of a pool.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use milepost_model::{Digest, Timestamp, UnitName};

/// How many errors a pool keeps.
const REMEMBERED: usize = 16;

#[derive(Debug, Clone)]
pub struct PoolStatus {
    pub function: UnitName,
    pub number: i64,
    pub uid: String,
    pub key: Digest,
    pub instances: usize,
    /// Ids of the instances that take calls, as in the logs.
    pub ids: Vec<u64>,
    pub starting: usize,
    /// Running calls.
    pub busy: usize,
    /// Waiting calls.
    pub queued: usize,
    /// Instances that ended on their own, hung or used too much memory.
    pub restarts: u64,
    /// Calls that ended, successfully or not.
    pub calls: u64,
    /// Faults that callers saw.
    pub errors: u64,
    /// Newest last.
    pub recent_errors: Vec<RecentError>,
}

#[derive(Debug, Clone)]
pub struct RecentError {
    pub at: Timestamp,
    /// Empty if no request was affected.
    pub request: Box<str>,
    pub message: String,
}

#[derive(Default)]
pub(super) struct Recent {
    errors: Mutex<VecDeque<RecentError>>,
    /// Failed requests, including those no longer in the list.
    failed: AtomicU64,
}

impl Recent {
    pub fn push(&self, error: RecentError) {
        if !error.request.is_empty() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() == REMEMBERED {
            errors.pop_front();
        }
        errors.push_back(error);
    }

    pub fn list(&self) -> Vec<RecentError> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }
}

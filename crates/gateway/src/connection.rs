//! What is known about a connection while it is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Requests of one connection: how many began, and how many are being answered.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    begun: AtomicU64,
    busy: AtomicU32,
    /// How often all that was to be sent was out.
    flushed: AtomicU64,
}

impl Pulse {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    /// Said by the one task that writes to the connection, which is why there is no need to add atomically.
    pub(crate) fn all_is_out(&self) {
        self.flushed.store(self.flushed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// `None` while a request is being answered, else how many there were.
    pub(crate) fn resting_since(&self) -> Option<u64> {
        (self.busy.load(Ordering::Relaxed) == 0).then(|| self.begun.load(Ordering::Relaxed))
    }
}

/// One request, from its head to the end of its answer.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Pulse>);

impl Busy {
    /// Changes when all that was to be sent on the connection is out.
    pub(crate) fn flushes(&self) -> u64 {
        self.0.flushed.load(Ordering::Relaxed)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

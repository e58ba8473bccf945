//! What is known about a connection while it is served. The server's own API watches its connections in the same way.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use tokio::sync::Notify;

/// Requests of one connection: how many began, and how many are being answered.
#[derive(Debug)]
pub struct Pulse {
    begun: AtomicU64,
    busy: AtomicU32,
    /// How often all that was to be sent was out.
    flushed: AtomicU64,
    /// Since when something that could not be sent at once is not all out; 0 while there is no such thing.
    held_up_from: AtomicU64,
    /// When the newest answer ended, or the connection began; see [`clock`].
    idle_from: AtomicU64,
    /// When the connection was last idle before a request.
    busy_from: AtomicU64,
    /// The door is full and this connection was chosen to be closed.
    evicted: AtomicBool,
    evicted_at_work: AtomicBool,
    eviction: Notify,
}

/// Nanoseconds of this process.
pub(crate) fn clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            begun: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            flushed: AtomicU64::new(0),
            held_up_from: AtomicU64::new(0),
            idle_from: AtomicU64::new(clock()),
            busy_from: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            evicted_at_work: AtomicBool::new(false),
            eviction: Notify::new(),
        }
    }
}

impl Pulse {
    pub fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        if self.busy.fetch_add(1, Ordering::Relaxed) == 0 {
            self.busy_from.store(clock(), Ordering::Relaxed);
        }
        Busy(self.clone())
    }

    /// Said by the one task that writes to the connection, which is why there is no need to add atomically.
    pub(crate) fn all_is_out(&self) {
        self.flushed.store(self.flushed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.held_up_from.store(0, Ordering::Relaxed);
    }

    /// The other side does not take what is sent as fast as it comes.
    pub(crate) fn hold_up(&self) {
        if self.held_up_from.load(Ordering::Relaxed) == 0 {
            self.held_up_from.store(clock(), Ordering::Relaxed);
        }
    }

    /// `None` while a request is being answered, else how many there were. hyper lets go of a body when it has taken the
    /// last piece, which is long before a slow reader has it, so that an answer has not ended while it is held up.
    pub fn resting_since(&self) -> Option<u64> {
        let rests = self.busy.load(Ordering::Relaxed) == 0 && self.held_up_from.load(Ordering::Relaxed) == 0;
        rests.then(|| self.begun.load(Ordering::Relaxed))
    }

    /// Since when the connection is idle, on a clock that starts with the process; `None` while it is not.
    pub(crate) fn idle_from(&self) -> Option<u64> {
        self.resting_since().map(|_| self.idle_from.load(Ordering::Relaxed))
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Since when the other side has not taken what was sent, if anything waits for it.
    pub(crate) fn held_up_from(&self) -> Option<u64> {
        Some(self.held_up_from.load(Ordering::Relaxed)).filter(|from| *from > 0)
    }

    /// Since when a request is being answered. Means nothing while the connection is idle.
    pub(crate) fn busy_from(&self) -> u64 {
        self.busy_from.load(Ordering::Relaxed)
    }

    /// `at_work`: also if a request is being answered.
    pub(crate) fn evict(&self, at_work: bool) {
        self.evicted_at_work.store(at_work, Ordering::Relaxed);
        self.evicted.store(true, Ordering::Relaxed);
        self.eviction.notify_one();
    }

    pub(crate) fn must_close(&self) -> bool {
        self.evicted_at_work.load(Ordering::Relaxed) || self.resting_since().is_some()
    }

    pub(crate) fn keep(&self) {
        self.evicted.store(false, Ordering::Relaxed);
    }

    pub(crate) async fn eviction(&self) {
        self.eviction.notified().await;
    }
}

/// One request, from its head to the end of its answer.
#[derive(Debug)]
pub struct Busy(Arc<Pulse>);

impl Busy {
    /// Changes when all that was to be sent on the connection is out.
    pub(crate) fn flushes(&self) -> u64 {
        self.0.flushed.load(Ordering::Relaxed)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.idle_from.store(clock(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// For how many ticks in a row no request began or was answered.
#[derive(Debug)]
pub struct Resting {
    begun: Option<u64>,
    ticks: u32,
    first: u32,
    later: u32,
}

impl Resting {
    /// The time until the end of a connection's first head, in parts.
    pub const TICKS: u32 = 3;
    /// With the 30 s that both doors have: 80 s. Load balancers keep connections for 60, and one that is closed under their
    /// hands is an error for whoever's request was on its way.
    const LATER: u32 = 8;

    /// A connection rests from its beginning.
    pub fn new() -> Self {
        Self { begun: Some(0), ticks: 0, first: Self::TICKS, later: Self::LATER }
    }

    pub fn at_most(ticks: u32) -> Self {
        Self { first: ticks, later: ticks, ..Self::new() }
    }

    /// Asked at each tick, with what [`Pulse::resting_since`] says.
    pub fn is_too_long(&mut self, begun: Option<u64>) -> bool {
        if begun.is_none() || begun != self.begun {
            self.begun = begun;
            self.ticks = 0;
            return false;
        }
        self.ticks += 1;
        self.ticks >= if begun == Some(0) { self.first } else { self.later }
    }
}

impl Default for Resting {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many ticks a connection is given up, of which each saw that many requests begun.
    fn given_up(seen: &[Option<u64>]) -> Option<usize> {
        let mut resting = Resting::new();
        seen.iter().position(|begun| resting.is_too_long(*begun)).map(|at| at + 1)
    }

    #[test]
    fn a_first_head_has_exactly_its_time_and_a_later_one_more_and_at_most_a_tick_beyond_that() {
        assert_eq!(given_up(&[Some(0); 9]), Some(3));
        assert_eq!(given_up(&[Some(1); 12]), Some(9));
        let after_an_answer: Vec<_> = [Some(0), None].into_iter().chain([Some(1); 12]).collect();
        assert_eq!(given_up(&after_an_answer), Some(11));
        assert_eq!(given_up(&[Some(0), Some(0), Some(1), Some(2), Some(3), None, None, None, None]), None);
    }
}

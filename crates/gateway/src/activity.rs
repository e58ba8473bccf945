//! The state of a connection while it is served. The server's API tracks its connections the same
//! way.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use tokio::sync::Notify;

/// The requests of one connection: how many began, and how many are in flight.
#[derive(Debug)]
pub struct Activity {
    begun: AtomicU64,
    busy: AtomicU32,
    /// How often the connection has sent everything.
    flushed: AtomicU64,
    /// When the first write blocked that is still not flushed; 0 while there is none.
    blocked_since: AtomicU64,
    /// When the newest response ended, or the connection began; see [`clock`].
    idle_since: AtomicU64,
    /// When the connection last went from idle to busy.
    busy_since: AtomicU64,
    /// Set when the listener is full and this connection was chosen to be closed.
    evicted: AtomicBool,
    evicted_in_flight: AtomicBool,
    eviction: Notify,
}

/// Nanoseconds since the process started; never 0.
pub(crate) fn clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            begun: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            flushed: AtomicU64::new(0),
            blocked_since: AtomicU64::new(0),
            idle_since: AtomicU64::new(clock()),
            busy_since: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            evicted_in_flight: AtomicBool::new(false),
            eviction: Notify::new(),
        }
    }
}

impl Activity {
    pub fn begin(self: &Arc<Self>) -> InFlight {
        self.begun.fetch_add(1, Ordering::Relaxed);
        if self.busy.fetch_add(1, Ordering::Relaxed) == 0 {
            self.busy_since.store(clock(), Ordering::Relaxed);
        }
        InFlight(self.clone())
    }

    /// Called only by the one task that writes to the connection, so the increment need not be
    /// atomic.
    pub(crate) fn record_flush(&self) {
        self.flushed.store(self.flushed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.blocked_since.store(0, Ordering::Relaxed);
    }

    /// Records that the client does not read as fast as data is sent.
    pub(crate) fn record_blocked_write(&self) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.blocked_since.store(clock(), Ordering::Relaxed);
        }
    }

    /// Returns how many requests began, or `None` while one is in flight. hyper drops a body when
    /// it has taken the last frame, long before a slow reader has received it, so a response does
    /// not count as ended while writes are blocked.
    pub fn begun_if_idle(&self) -> Option<u64> {
        let is_idle = self.busy.load(Ordering::Relaxed) == 0 && self.blocked_since.load(Ordering::Relaxed) == 0;
        is_idle.then(|| self.begun.load(Ordering::Relaxed))
    }

    /// Since when the connection has been idle, see [`clock`]; `None` while it is busy.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        self.begun_if_idle().map(|_| self.idle_since.load(Ordering::Relaxed))
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Since when writes have been blocked; `None` if nothing waits to be sent.
    pub(crate) fn blocked_since(&self) -> Option<u64> {
        Some(self.blocked_since.load(Ordering::Relaxed)).filter(|from| *from > 0)
    }

    /// Since when the connection has been busy. Meaningless while it is idle.
    pub(crate) fn busy_since(&self) -> u64 {
        self.busy_since.load(Ordering::Relaxed)
    }

    /// Asks the connection to close; with `in_flight` even if a request is in flight.
    pub(crate) fn evict(&self, in_flight: bool) {
        self.evicted_in_flight.store(in_flight, Ordering::Relaxed);
        self.evicted.store(true, Ordering::Relaxed);
        self.eviction.notify_one();
    }

    pub(crate) fn must_close(&self) -> bool {
        self.evicted_in_flight.load(Ordering::Relaxed) || self.begun_if_idle().is_some()
    }

    pub(crate) fn keep(&self) {
        self.evicted.store(false, Ordering::Relaxed);
    }

    pub(crate) async fn eviction(&self) {
        self.eviction.notified().await;
    }
}

/// One request, from its head to the end of its response.
#[derive(Debug)]
pub struct InFlight(Arc<Activity>);

impl InFlight {
    /// Changes whenever the connection has sent everything.
    pub(crate) fn flushes(&self) -> u64 {
        self.0.flushed.load(Ordering::Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.idle_since.store(clock(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts the ticks in a row on which no request began or was in flight.
#[derive(Debug)]
pub struct IdleTimer {
    begun: Option<u64>,
    ticks: u32,
    first: u32,
    later: u32,
}

impl IdleTimer {
    /// Ticks until the first head of a connection times out.
    pub const TICKS: u32 = 3;
    /// 80 s with the 30 s head timeout of both listeners. Load balancers keep connections for 60 s,
    /// and closing one before they do fails a request that is on its way.
    const LATER: u32 = 8;

    /// A new connection counts as idle.
    pub fn new() -> Self {
        Self { begun: Some(0), ticks: 0, first: Self::TICKS, later: Self::LATER }
    }

    pub fn at_most(ticks: u32) -> Self {
        Self { first: ticks, later: ticks, ..Self::new() }
    }

    /// Takes the result of [`Activity::begun_if_idle`] and returns whether the connection timed out.
    pub fn tick(&mut self, begun: Option<u64>) -> bool {
        if begun.is_none() || begun != self.begun {
            self.begun = begun;
            self.ticks = 0;
            return false;
        }
        self.ticks += 1;
        self.ticks >= if begun == Some(0) { self.first } else { self.later }
    }
}

impl Default for IdleTimer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tick on which a connection times out, given the count of begun requests on each.
    fn given_up(seen: &[Option<u64>]) -> Option<usize> {
        let mut timer = IdleTimer::new();
        seen.iter().position(|begun| timer.tick(*begun)).map(|at| at + 1)
    }

    #[test]
    fn first_head_times_out_before_later_ones() {
        assert_eq!(given_up(&[Some(0); 9]), Some(3));
        assert_eq!(given_up(&[Some(1); 12]), Some(9));
        let after_an_answer: Vec<_> = [Some(0), None].into_iter().chain([Some(1); 12]).collect();
        assert_eq!(given_up(&after_an_answer), Some(11));
        assert_eq!(given_up(&[Some(0), Some(0), Some(1), Some(2), Some(3), None, None, None, None]), None);
    }
}

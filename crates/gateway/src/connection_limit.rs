//! Limits the connections of a listener. A full listener closes idle connections, the longest idle
//! first, to admit a new client. If none is idle, it closes slow ones of the client that holds the
//! most. The gateway and the server's API both use this.

mod client;
mod slots;

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::activity::Activity;
use client::Client;
use slots::{Slots, Verdict};

/// How long a new connection waits for an evicted one to close.
const PATIENCE: Duration = Duration::from_millis(250);
const TRIES: u32 = 3;

/// How many connections a listener holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub total: usize,
    /// Connections on which no request has shown a valid token. A listener that requires none has
    /// `total` here. With a lower limit, busy connections without a token are evicted too when none
    /// is idle, so that they cannot keep out those with one.
    pub anonymous: usize,
}

impl ConnectionLimits {
    pub fn all(total: usize) -> Self {
        Self { total, anonymous: total }
    }
}

/// The connection slots of one kind of listener.
pub struct ConnectionLimiter {
    slots: Mutex<Slots>,
    hasher: RandomState,
    /// A slot became free, or an evicted connection was kept because it got a request.
    freed: Notify,
}

impl ConnectionLimiter {
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { slots: Mutex::new(Slots::new(limits)), hasher: RandomState::new(), freed: Notify::new() })
    }

    /// Takes a slot for a new connection. Returns `None` if the listener is full of busy
    /// connections, or if it is nearly full, this client has more than its share, and none of its
    /// connections is idle or slow.
    pub async fn acquire(self: &Arc<Self>, address: Option<IpAddr>) -> Option<ConnectionSlot> {
        let client = Client::from(address);
        let activity = Arc::new(Activity::default());
        for _ in 0..TRIES {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            let verdict = self.slots().admit(client, &activity);
            match verdict {
                Verdict::Admitted(at) => {
                    let (limiter, known) = (self.clone(), AtomicU64::new(0));
                    return Some(ConnectionSlot(Arc::new(OpenSlot { limiter, at, activity, known })));
                }
                Verdict::Evicting => {
                    let _ = tokio::time::timeout(PATIENCE, freed).await;
                }
                Verdict::Refused => return None,
            }
        }
        None
    }

    /// Evicts some idle connections, because the process is out of file descriptors.
    pub fn evict_idle(&self) {
        self.slots().evict_idle();
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one connection, released when the last clone is dropped.
#[derive(Clone)]
pub struct ConnectionSlot(Arc<OpenSlot>);

struct OpenSlot {
    limiter: Arc<ConnectionLimiter>,
    at: usize,
    activity: Arc<Activity>,
    /// The hash of the name passed to [`ConnectionSlot::authenticate`]; 0 for none.
    known: AtomicU64,
}

impl ConnectionSlot {
    pub fn activity(&self) -> &Arc<Activity> {
        &self.0.activity
    }

    /// Records that a request on this connection has shown a valid token. From then on the
    /// connection counts to the share of `name`.
    pub fn authenticate(&self, name: &str) {
        let OpenSlot { limiter, at, known, .. } = &*self.0;
        let who = limiter.hasher.hash_one(name).max(1);
        if known.load(Ordering::Relaxed) != who && limiter.slots().authenticate(*at, who) {
            known.store(who, Ordering::Relaxed);
        }
    }

    /// Resolves when the connection has to close: the listener is full and the connection is idle,
    /// or was chosen even though it is busy.
    pub async fn evicted(&self) {
        loop {
            self.0.activity.eviction().await;
            if self.0.activity.must_close() {
                return;
            }
            // A request arrived in the meantime: another connection is evicted.
            self.0.activity.keep();
            self.0.limiter.freed.notify_waiters();
        }
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.limiter.slots().release(self.at);
        self.limiter.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[tokio::test(start_paused = true)]
    async fn new_connection_waits_for_the_evicted_one_to_close() {
        let limiter = ConnectionLimiter::new(ConnectionLimits::all(1));
        let first = limiter.acquire(HERE).await.expect("a slot");
        let closing = tokio::spawn(async move {
            first.evicted().await;
            drop(first);
        });
        let second = limiter.acquire(HERE).await.expect("the slot of the first");
        closing.await.expect("it was evicted");
        let busy = second.activity().begin();
        assert!(limiter.acquire(HERE).await.is_none(), "its only connection is at work");
        drop(busy);
    }

    #[tokio::test(start_paused = true)]
    async fn request_just_before_eviction_keeps_the_connection() {
        let limiter = ConnectionLimiter::new(ConnectionLimits::all(1));
        let first = limiter.acquire(HERE).await.expect("a slot");
        let mut newcomer = Box::pin(limiter.acquire(HERE));
        assert!(newcomer.as_mut().now_or_never().is_none(), "it waits");
        let busy = first.activity().begin();
        assert!(first.evicted().now_or_never().is_none(), "it is at work");
        assert!(newcomer.await.is_none());
        drop(busy);
        assert!(limiter.acquire(HERE).now_or_never().is_none(), "idle again, it is evicted");
        assert!(first.evicted().now_or_never().is_some());
    }
}

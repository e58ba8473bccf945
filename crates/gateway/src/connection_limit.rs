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

use crate::activity::Pulse;
use client::Client;
use slots::{Room, Verdict};

/// How long a new connection waits for an evicted one to close.
const PATIENCE: Duration = Duration::from_millis(250);
const TRIES: u32 = 3;

/// How many connections a listener holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatLimits {
    pub all: usize,
    /// Connections on which no request has shown a valid token. A listener that requires none has
    /// `all` here. With a lower limit, busy connections without a token are evicted too when none
    /// is idle, so that they cannot keep out those with one.
    pub strangers: usize,
}

impl SeatLimits {
    pub fn all(all: usize) -> Self {
        Self { all, strangers: all }
    }
}

/// The connection slots of one kind of listener.
pub struct Seats {
    room: Mutex<Room>,
    names: RandomState,
    /// A seat became free, or an evicted connection was kept because it got a request.
    freed: Notify,
}

impl Seats {
    pub fn new(limits: SeatLimits) -> Arc<Self> {
        Arc::new(Self { room: Mutex::new(Room::new(limits)), names: RandomState::new(), freed: Notify::new() })
    }

    /// Takes a seat for a new connection. Returns `None` if the listener is full of busy
    /// connections, or if it is nearly full, this client has more than its share, and none of its
    /// connections is idle or slow.
    pub async fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Seat> {
        let client = Client::from(address);
        let pulse = Arc::new(Pulse::default());
        for _ in 0..TRIES {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            let verdict = self.room().seat(client, &pulse);
            match verdict {
                Verdict::Seated(at) => {
                    let (seats, known) = (self.clone(), AtomicU64::new(0));
                    return Some(Seat(Arc::new(Taken { seats, at, pulse, known })));
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
    pub fn make_room(&self) {
        self.room().make_room();
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one connection, released when the last clone is dropped.
#[derive(Clone)]
pub struct Seat(Arc<Taken>);

struct Taken {
    seats: Arc<Seats>,
    at: usize,
    pulse: Arc<Pulse>,
    /// The hash of the name passed to [`Seat::vouch`]; 0 for none.
    known: AtomicU64,
}

impl Seat {
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.0.pulse
    }

    /// Records that a request on this connection has shown a valid token. From then on the
    /// connection counts to the share of `name`.
    pub fn vouch(&self, name: &str) {
        let Taken { seats, at, known, .. } = &*self.0;
        let who = seats.names.hash_one(name).max(1);
        if known.load(Ordering::Relaxed) != who && seats.room().vouch(*at, who) {
            known.store(who, Ordering::Relaxed);
        }
    }

    /// Resolves when the connection has to close: the listener is full and the connection is idle,
    /// or was chosen even though it is busy.
    pub async fn evicted(&self) {
        loop {
            self.0.pulse.eviction().await;
            if self.0.pulse.must_close() {
                return;
            }
            // A request arrived in the meantime: another connection is evicted.
            self.0.pulse.keep();
            self.0.seats.freed.notify_waiters();
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.seats.room().leave(self.at);
        self.seats.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[tokio::test(start_paused = true)]
    async fn new_connection_waits_for_the_evicted_one_to_close() {
        let seats = Seats::new(SeatLimits::all(1));
        let first = seats.take(HERE).await.expect("a seat");
        let closing = tokio::spawn(async move {
            first.evicted().await;
            drop(first);
        });
        let second = seats.take(HERE).await.expect("the seat of the first");
        closing.await.expect("it was evicted");
        let busy = second.pulse().begin();
        assert!(seats.take(HERE).await.is_none(), "its only connection is at work");
        drop(busy);
    }

    #[tokio::test(start_paused = true)]
    async fn request_just_before_eviction_keeps_the_connection() {
        let seats = Seats::new(SeatLimits::all(1));
        let first = seats.take(HERE).await.expect("a seat");
        let mut newcomer = Box::pin(seats.take(HERE));
        assert!(newcomer.as_mut().now_or_never().is_none(), "it waits");
        let busy = first.pulse().begin();
        assert!(first.evicted().now_or_never().is_none(), "it is at work");
        assert!(newcomer.await.is_none());
        drop(busy);
        assert!(seats.take(HERE).now_or_never().is_none(), "idle again, it is evicted");
        assert!(first.evicted().now_or_never().is_some());
    }
}

//! The connections that a door may hold. A full door closes idle connections, the longest idle first, so that a new client
//! gets in; and when none is idle, slow ones of the client that holds the most. The gateway and the server's API both use it.

mod client;
mod room;

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::connection::Pulse;
use client::Client;
use room::{Room, Verdict};

/// How long a newcomer waits for an evicted connection to close.
const PATIENCE: Duration = Duration::from_millis(250);
const TRIES: u32 = 3;

/// How many connections a door holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatLimits {
    pub all: usize,
    /// Those on which no request has shown a valid token. A door that asks for none has `all` here. Where they are fewer,
    /// strangers at work give way too if none is idle: they must not keep those with a token out.
    pub strangers: usize,
}

impl SeatLimits {
    pub fn all(all: usize) -> Self {
        Self { all, strangers: all }
    }
}

/// The seats of one door.
pub struct Seats {
    room: Mutex<Room>,
    names: RandomState,
    /// A seat became free, or an evicted connection was kept because it had got a request.
    freed: Notify,
}

impl Seats {
    pub fn new(limits: SeatLimits) -> Arc<Self> {
        Arc::new(Self { room: Mutex::new(Room::new(limits)), names: RandomState::new(), freed: Notify::new() })
    }

    /// A seat for a new connection. `None` if the door is full of connections that are at work, or if this client has more
    /// than its share of a nearly full door and none of its connections is idle or slow.
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

    /// Evicts some idle connections, because the process has no more descriptors.
    pub fn make_room(&self) {
        self.room().make_room();
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's place at a door; free again when the last clone is dropped.
#[derive(Clone)]
pub struct Seat(Arc<Taken>);

struct Taken {
    seats: Arc<Seats>,
    at: usize,
    pulse: Arc<Pulse>,
    /// The hash of the name that was vouched for; 0 for none.
    known: AtomicU64,
}

impl Seat {
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.0.pulse
    }

    /// A request on this connection has shown a valid token. From now on the connection counts to the share of `name`.
    pub fn vouch(&self, name: &str) {
        let Taken { seats, at, known, .. } = &*self.0;
        let who = seats.names.hash_one(name).max(1);
        if known.load(Ordering::Relaxed) != who && seats.room().vouch(*at, who) {
            known.store(who, Ordering::Relaxed);
        }
    }

    /// Resolves when the connection has to close, because the door is full and it is idle, or a stranger's among strangers at
    /// work.
    pub async fn evicted(&self) {
        loop {
            self.0.pulse.eviction().await;
            if self.0.pulse.must_close() {
                return;
            }
            // A request came meanwhile: another connection goes.
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
    async fn a_newcomer_waits_until_the_evicted_connection_is_closed() {
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
    async fn a_connection_that_gets_a_request_just_before_its_eviction_stays() {
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

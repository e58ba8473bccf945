//! Those who would wait for the same row wait here instead, before they take a connection.
//!
//! In the database each of them would hold a connection while it waits, and sixteen who want one app would keep everybody
//! from all the others. Between servers the row's lock decides, as ever: of each server one waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// The queues that somebody stands in, by name. A queue lives as long as its first and its last.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<String, Weak<Queue<()>>>>);

/// Being the first in a queue, until it is dropped.
pub(crate) struct Turn {
    place: Option<OwnedMutexGuard<()>>,
    turns: Arc<Turns>,
    name: String,
}

impl Turns {
    /// First come, first served. Who goes away while waiting leaves the queue.
    pub(super) async fn wait(self: &Arc<Self>, name: &str) -> Turn {
        let queue = {
            let mut queues = self.queues();
            let standing = queues.get(name).and_then(Weak::upgrade);
            standing.unwrap_or_else(|| {
                let queue = Arc::default();
                queues.insert(name.to_owned(), Arc::downgrade(&queue));
                queue
            })
        };
        // Made before the wait, so that also who goes away meanwhile clears up.
        let mut turn = Turn { place: None, turns: Arc::clone(self), name: name.to_owned() };
        turn.place = Some(queue.lock_owned().await);
        turn
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Weak<Queue<()>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.place.take());
        let mut queues = self.turns.queues();
        if queues.get(&self.name).is_some_and(|queue| queue.strong_count() == 0) {
            queues.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_in_the_order_of_coming_and_nothing_stays_behind() {
        let turns = Arc::new(Turns::default());
        let first = turns.wait("shop").await;
        let mut second = Box::pin(turns.wait("shop"));
        let mut third = Box::pin(turns.wait("shop"));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        drop(turns.wait("other").await);
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await;
        // Who goes away does not hold up the next.
        let mut fourth = Box::pin(turns.wait("shop"));
        assert!(fourth.as_mut().now_or_never().is_none());
        drop(third);
        drop(second);
        drop(fourth.await);
        assert!(turns.queues().is_empty());
        let waiting = turns.wait("shop").await;
        assert!(turns.wait("shop").now_or_never().is_none());
        drop(waiting);
        assert!(turns.queues().is_empty());
    }
}

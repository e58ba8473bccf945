//! In-process queues for writers that would wait for the same row. They wait here, before they take
//! a connection.
//!
//! In the database each of them would hold a connection while waiting, and sixteen writers of one
//! app would block every other app. Between servers the row lock still decides, with one waiter per
//! server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// Queues in use, by name. A queue lives as long as it has a holder or waiters.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<String, Weak<Queue<()>>>>);

/// The head position of a queue; released when dropped.
pub(crate) struct Turn {
    place: Option<OwnedMutexGuard<()>>,
    turns: Arc<Turns>,
    name: String,
}

impl Turns {
    /// Waits for the turn, in first-come order. Dropping the future leaves the queue.
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
        // Created before the wait, so that a dropped waiter also cleans up.
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
    async fn turns_are_granted_in_order_and_cleaned_up() {
        let turns = Arc::new(Turns::default());
        let first = turns.wait("shop").await;
        let mut second = Box::pin(turns.wait("shop"));
        let mut third = Box::pin(turns.wait("shop"));
        assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
        drop(turns.wait("other").await);
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.await;
        // A dropped waiter does not block the next one.
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

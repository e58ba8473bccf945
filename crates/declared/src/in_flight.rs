//! What an apply has begun and not finished, for a front end that interrupts it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub type Undo = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The state of one apply. Clones share it, and it outlives a dropped apply.
#[derive(Clone, Default)]
pub struct InFlight(Arc<State>);

#[derive(Default)]
struct State {
    is_landing: AtomicBool,
    undo: Mutex<Option<Undo>>,
}

impl InFlight {
    /// Whether a change was sent and its outcome is not known.
    pub fn is_landing(&self) -> bool {
        self.0.is_landing.load(Ordering::SeqCst)
    }

    /// Whether an interrupt leaves something to undo.
    pub fn has_undo(&self) -> bool {
        self.undo().is_some()
    }

    /// Returns what undoes the apply, once. Call it after the apply was dropped.
    pub fn take_undo(&self) -> Option<Undo> {
        self.undo().take()
    }

    /// Marks the one request that changes something as in flight. The mark stays if it is dropped.
    pub(super) async fn landing<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.is_landing.store(true, Ordering::SeqCst);
        let done = work.await;
        self.0.is_landing.store(false, Ordering::SeqCst);
        done
    }

    pub(super) fn undo_with(&self, undo: impl Future<Output = ()> + Send + 'static) {
        *self.undo() = Some(Box::pin(undo));
    }

    pub(super) fn nothing_to_undo(&self) {
        self.undo().take();
    }

    fn undo(&self) -> std::sync::MutexGuard<'_, Option<Undo>> {
        self.0.undo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_request_stays_in_flight() {
        let in_flight = InFlight::default();
        assert_eq!(in_flight.landing(async { 7 }).await, 7);
        assert!(!in_flight.is_landing());
        let request = in_flight.landing(std::future::pending::<()>());
        let timeout = tokio::time::timeout(std::time::Duration::from_millis(1), request);
        assert!(timeout.await.is_err());
        assert!(in_flight.is_landing());
    }

    #[tokio::test]
    async fn an_undo_is_handed_out_once() {
        let in_flight = InFlight::default();
        in_flight.undo_with(async {});
        assert!(in_flight.has_undo());
        in_flight.take_undo().expect("an undo").await;
        assert!(!in_flight.has_undo() && in_flight.take_undo().is_none());
    }
}

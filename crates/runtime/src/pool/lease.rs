//! A slot on loan. However a loan ends, also by being dropped, the pool hears of it exactly once.

use std::sync::Arc;

use super::{Pool, SlotOf};
use crate::executor::{Executor, SlotHome, StopReason};

/// A slot that was given to a call which has not begun to use it.
pub(super) struct Lease<E: Executor> {
    parts: Option<(SlotOf<E>, Home<E>)>,
}

impl<E: Executor> Lease<E> {
    pub fn new(pool: &Arc<Pool<E>>, member: u64, slot: SlotOf<E>) -> Self {
        Self { parts: Some((slot, Home { pool: Some(pool.clone()), member })) }
    }

    /// `None` cannot happen, as below.
    pub fn slot(&mut self) -> Option<&mut SlotOf<E>> {
        self.parts.as_mut().map(|(slot, _)| slot)
    }

    /// `None` cannot happen: the parts are taken once, by consuming the lease.
    pub fn into_parts(mut self) -> Option<(SlotOf<E>, Home<E>)> {
        self.parts.take()
    }
}

/// A call that left between getting a slot and using it gives the slot to the next.
impl<E: Executor> Drop for Lease<E> {
    fn drop(&mut self) {
        if let Some((slot, mut home)) = self.parts.take()
            && let Some(pool) = home.pool.take()
        {
            pool.pass_on(home.member, slot);
        }
    }
}

/// The way back of one slot.
pub(crate) struct Home<E: Executor> {
    pool: Option<Arc<Pool<E>>>,
    member: u64,
}

impl<E: Executor> Home<E> {
    /// For a slot that was lent and taken back by the pool itself.
    pub(super) fn defuse(mut self) {
        self.pool = None;
    }
}

impl<E: Executor> SlotHome<SlotOf<E>> for Home<E> {
    fn give_back(mut self, slot: SlotOf<E>) {
        if let Some(pool) = self.pool.take() {
            pool.give_back(self.member, slot);
        }
    }

    fn broken(mut self, reason: StopReason) {
        if let Some(pool) = self.pool.take() {
            pool.broken(self.member, reason);
        }
    }

    fn report(&self, request: &str, message: &str) {
        if let Some(pool) = &self.pool {
            pool.report(request, self.member, message);
        }
    }
}

impl<E: Executor> Drop for Home<E> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.broken(self.member, StopReason::Broken);
        }
    }
}

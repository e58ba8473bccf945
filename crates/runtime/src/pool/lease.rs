//! A leased slot. However a lease ends, including by being dropped, the pool is notified exactly
//! once.

use std::sync::Arc;

use super::{Pool, SlotOf};
use crate::executor::{Executor, SlotHome, StopReason};

/// A slot that was assigned to a call which has not begun to use it.
pub(super) struct Lease<E: Executor> {
    parts: Option<(SlotOf<E>, Home<E>)>,
}

impl<E: Executor> Lease<E> {
    pub fn new(pool: &Arc<Pool<E>>, member: u64, slot: SlotOf<E>) -> Self {
        Self { parts: Some((slot, Home { pool: Some(pool.clone()), member })) }
    }

    /// Always `Some`, as for [`Self::into_parts`].
    pub fn slot(&mut self) -> Option<&mut SlotOf<E>> {
        self.parts.as_mut().map(|(slot, _)| slot)
    }

    /// Always `Some`: the parts are taken once, by consuming the lease.
    pub fn into_parts(mut self) -> Option<(SlotOf<E>, Home<E>)> {
        self.parts.take()
    }
}

/// A call that left between getting a slot and using it passes the slot on.
impl<E: Executor> Drop for Lease<E> {
    fn drop(&mut self) {
        if let Some((slot, mut home)) = self.parts.take()
            && let Some(pool) = home.pool.take()
        {
            pool.pass_on(home.member, slot);
        }
    }
}

/// The return path of one slot.
pub(crate) struct Home<E: Executor> {
    pool: Option<Arc<Pool<E>>>,
    member: u64,
}

impl<E: Executor> Home<E> {
    /// For a slot that the pool leased and took back itself.
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

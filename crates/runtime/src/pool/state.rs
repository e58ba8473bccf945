//! The state of a pool and all of its transitions. Nothing here waits, starts or stops: a
//! transition runs under the pool's lock and records in [`Effects`] what to do after the lock is
//! released.
//!
//! Invariants between two transitions: a slot is free, or leased to one call, or gone with its
//! member. There are no free slots while calls wait. Members and starts together never exceed
//! `max`.
//!
//! After a failed start the next may fail too, so instances are started one at a time, with
//! exponential backoff, until one is ready. No call waits longer than for one whole start: see
//! [`State::start_failed`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::Backoff;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::lease::Lease;
use super::{InstanceOf, SlotOf};
use crate::call::CallError;
use crate::executor::{Executor, Instance as _, StartError, StopReason};

/// Backoff after the second failure in a row, doubled with each further one.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
/// The `retry_after` of calls that were refused or timed out in the queue.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The limits of one pool.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub max: usize,
    pub concurrency: usize,
    pub idle: Duration,
    /// Calls that may queue.
    pub queue: usize,
    /// Calls that an instance runs before it is replaced.
    pub recycle: u64,
    /// How long a pool without instances is kept, for its errors and its backoff.
    pub forget: Duration,
}

pub(super) struct State<E: Executor> {
    pub bounds: Bounds,
    /// A stack: the most recently used slot is last.
    pub free: Vec<(u64, SlotOf<E>)>,
    pub waiters: VecDeque<Waiter<E>>,
    pub members: Vec<Member<E>>,
    pub starting: usize,
    next_ticket: u64,
    /// Instances that are kept without calls.
    pub wanted: usize,
    /// Until then, one existing instance is not stopped.
    pub kept_until: Option<Instant>,
    /// Instances requested by hand, and until when they are kept.
    asked: Option<(usize, Instant)>,
    failures: u32,
    retry_at: Option<Instant>,
    last_failure: String,
    /// The last failure was in fetching the code.
    unfetched: bool,
    /// The last start failed because of this machine.
    machine: bool,
    pub restarts: u64,
    pub served: u64,
    pub stopping: bool,
    /// Removed from the map of pools. Holders must look the pool up again.
    pub closed: bool,
    emptied_at: Instant,
}

pub(super) struct Waiter<E: Executor> {
    ticket: u64,
    answer: oneshot::Sender<Result<Lease<E>, CallError>>,
}

pub(super) type Answer<E> = oneshot::Sender<Result<Lease<E>, CallError>>;

pub(super) struct Member<E: Executor> {
    pub id: u64,
    pub instance: Arc<InstanceOf<E>>,
    /// Slots that are leased to calls.
    pub leased: usize,
    served: u64,
    last_used: Instant,
    retiring: Option<StopReason>,
    /// Due for recycling. Retires once its replacement is ready.
    due: bool,
    /// Consecutive failures before it started. They continue to count if it ends before it served a
    /// call.
    failures_before: u32,
}

/// What to do after the lock is released.
pub(super) struct Effects<E: Executor> {
    pub starts: usize,
    pub stops: Vec<(Arc<InstanceOf<E>>, StopReason)>,
    pub failed: Vec<(Answer<E>, CallError)>,
    /// Dropped outside the lock, since dropping may take a while.
    pub dropped: Vec<SlotOf<E>>,
}

impl<E: Executor> Default for Effects<E> {
    fn default() -> Self {
        Self { starts: 0, stops: Vec::new(), failed: Vec::new(), dropped: Vec::new() }
    }
}

/// The outcome of a call's arrival.
pub(super) enum Arrival<E: Executor> {
    Slot(u64, SlotOf<E>),
    Wait(u64, oneshot::Receiver<Result<Lease<E>, CallError>>),
    Refused(CallError),
    Closed,
}

impl<E: Executor> State<E> {
    pub fn new(bounds: Bounds, now: Instant) -> Self {
        Self {
            bounds,
            free: Vec::new(),
            waiters: VecDeque::new(),
            members: Vec::new(),
            starting: 0,
            next_ticket: 0,
            wanted: 0,
            kept_until: None,
            asked: None,
            failures: 0,
            retry_at: None,
            last_failure: String::new(),
            unfetched: false,
            machine: false,
            restarts: 0,
            served: 0,
            stopping: false,
            closed: false,
            emptied_at: now,
        }
    }

    pub fn arrive(&mut self, now: Instant, effects: &mut Effects<E>) -> Arrival<E> {
        if self.closed {
            return Arrival::Closed;
        }
        if self.stopping {
            return Arrival::Refused(CallError::Stopping);
        }
        if let Some((id, slot)) = self.free.pop() {
            if let Some(member) = self.member(id) {
                member.leased += 1;
            }
            return Arrival::Slot(id, slot);
        }
        if self.waiters.len() >= self.bounds.queue {
            // While starts fail, the queue is not full because of busy instances.
            return Arrival::Refused(match self.lacks_instances() {
                Some(_) if self.failures > 0 => self.unready(),
                _ => CallError::Busy { retry_after: RETRY_AFTER, waited: None },
            });
        }
        if self.pausing(now) && self.healthy() == 0 && self.starting == 0 {
            return Arrival::Refused(self.unready());
        }
        let (answer, receiver) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiters.push_back(Waiter { ticket, answer });
        effects.starts += self.plan_starts(now);
        Arrival::Wait(ticket, receiver)
    }

    /// Returns the last start failure, empty if there was none, when waiting calls depend on a
    /// start. `None` if there are instances and they are busy.
    pub fn lacks_instances(&self) -> Option<&str> {
        // Draining instances count as busy as long as no replacement is being started.
        (self.healthy() == 0 && (self.starting > 0 || self.failures > 0)).then_some(&*self.last_failure)
    }

    /// The last failure, as an error for calls.
    pub fn unready(&self) -> CallError {
        let reason = self.last_failure.clone();
        match (self.unfetched, self.machine) {
            (true, _) => CallError::NotFetched { reason },
            (false, true) => CallError::NotStarted { reason },
            (false, false) => CallError::NotReady { reason },
        }
    }

    /// The ticket of the next call to wait. All current waiters have lower ones.
    pub fn next_ticket(&self) -> u64 {
        self.next_ticket
    }

    /// Removes a caller that has left. Nothing to do if it was served in the meantime: dropping the
    /// lease returns the slot.
    pub fn forget_waiter(&mut self, ticket: u64) {
        if let Ok(at) = self.waiters.binary_search_by_key(&ticket, |waiter| waiter.ticket) {
            self.waiters.remove(at);
        }
    }

    /// Records that a call has ended and its slot is reusable.
    pub fn returned(&mut self, id: u64, now: Instant, effects: &mut Effects<E>) {
        let recycle = self.bounds.recycle;
        let room = self.members.len() + self.starting < self.bounds.max;
        self.served += 1;
        let Some(member) = self.member(id) else { return };
        member.served += 1;
        member.last_used = now;
        if member.served < recycle || member.due || member.retiring.is_some() {
            return;
        }
        if room {
            member.due = true;
            self.starting += 1;
            effects.starts += 1;
        } else {
            self.retire(id, StopReason::Recycled, effects);
        }
    }

    /// Assigns a slot to the next waiter, or keeps it. On `Some`, send the lease to that waiter.
    pub fn place(&mut self, id: u64, slot: SlotOf<E>, effects: &mut Effects<E>) -> Option<(Answer<E>, SlotOf<E>)> {
        let draining = self.stopping && self.waiters.is_empty();
        let Some(at) = self.members.iter().position(|member| member.id == id) else {
            effects.dropped.push(slot);
            return None;
        };
        let member = &mut self.members[at];
        if member.retiring.is_some() {
            member.leased -= 1;
            if let (0, Some(reason)) = (member.leased, member.retiring) {
                effects.stops.push((member.instance.clone(), reason));
            }
            effects.dropped.push(slot);
            return None;
        }
        if let Some(waiter) = self.waiters.pop_front() {
            return Some((waiter.answer, slot));
        }
        member.leased -= 1;
        if draining {
            effects.dropped.push(slot);
            self.retire(id, StopReason::Shutdown, effects);
        } else {
            self.free.push((id, slot));
        }
        None
    }

    /// Loses a slot, and its instance: it takes no new calls and stops when its other calls have
    /// ended.
    pub fn broken(&mut self, id: u64, reason: StopReason, effects: &mut Effects<E>) {
        self.served += 1;
        if let Some(member) = self.member(id) {
            member.leased -= 1;
        }
        self.retire(id, reason, effects);
    }

    pub fn retire(&mut self, id: u64, reason: StopReason, effects: &mut Effects<E>) {
        let Some(member) = self.member(id) else { return };
        let reason = *member.retiring.get_or_insert(reason);
        if member.leased == 0 {
            let instance = member.instance.clone();
            effects.stops.push((instance, reason));
        }
        effects.dropped.extend(self.free.extract_if(.., |(owner, _)| *owner == id).map(|(_, slot)| slot));
    }

    /// Adds a ready instance. The caller places its slots, as if calls had just ended on them.
    pub fn started(&mut self, instance: Arc<InstanceOf<E>>, slots: usize, now: Instant, effects: &mut Effects<E>) {
        self.starting -= 1;
        let failures_before = std::mem::take(&mut self.failures);
        self.last_failure.clear();
        self.retry_at = None;
        let id = instance.id();
        for due in self.members.iter().filter(|member| member.due).map(|member| member.id).collect::<Vec<_>>() {
            self.retire(due, StopReason::Recycled, effects);
        }
        self.members.push(Member {
            id,
            instance,
            leased: slots,
            served: 0,
            last_used: now,
            retiring: None,
            due: false,
            failures_before,
        });
    }

    /// With a healthy instance left, waiters go on waiting for it. Without one, the error goes to
    /// all waiters if no other start is in progress. After a timeout it also goes to the waiters
    /// that waited the whole time (tickets below `waited_for_all`): starts that began later would
    /// fail later.
    pub fn start_failed(
        &mut self,
        error: &StartError,
        waited_for_all: Option<u64>,
        now: Instant,
        effects: &mut Effects<E>,
    ) {
        self.starting -= 1;
        for member in self.members.iter_mut().filter(|member| member.due) {
            member.due = false;
            member.served = 0;
        }
        self.failed(error.reason.clone(), now);
        (self.unfetched, self.machine) = (error.unfetched, error.machine);
        if self.healthy() == 0 {
            let told = match waited_for_all {
                _ if self.starting == 0 => self.waiters.len(),
                Some(ticket) => self.waiters.partition_point(|waiter| waiter.ticket < ticket),
                None => 0,
            };
            let error = self.unready();
            effects.failed.extend(self.waiters.drain(..told).map(|waiter| (waiter.answer, error.clone())));
        }
        self.note_emptied(now);
    }

    fn failed(&mut self, reason: String, now: Instant) {
        self.failures += 1;
        self.last_failure = reason;
        (self.unfetched, self.machine) = (false, false);
        // The first retry has no delay: most faults are transient or lie in the code.
        self.retry_at = (self.failures > 1).then(|| now + BACKOFF.after(self.failures - 1));
    }

    /// Removes an ended instance. Returns true if it ended on its own.
    pub fn ended(&mut self, id: u64, how: &str, now: Instant, effects: &mut Effects<E>) -> bool {
        let Some(at) = self.members.iter().position(|member| member.id == id) else { return false };
        let member = self.members.swap_remove(at);
        effects.dropped.extend(self.free.extract_if(.., |(owner, _)| *owner == id).map(|(_, slot)| slot));
        let unasked = matches!(member.retiring, None | Some(StopReason::Broken));
        if unasked || matches!(member.retiring, Some(StopReason::TimedOut | StopReason::TooMuchMemory)) {
            self.restarts += 1;
        }
        if member.retiring.is_none() && member.served == 0 && member.leased == 0 {
            self.failures = self.failures.max(member.failures_before);
            self.failed(format!("it ended right after its start ({how})"), now);
        }
        effects.starts += self.plan_starts(now);
        self.note_emptied(now);
        unasked
    }

    /// Returns how many instances to start now. They count as starting from here on.
    pub fn plan_starts(&mut self, now: Instant) -> usize {
        if self.closed || self.pausing(now) {
            return 0;
        }
        let room = self.bounds.max.saturating_sub(self.members.len() + self.starting);
        let for_waiters = self.waiters.len().div_ceil(self.bounds.concurrency).saturating_sub(self.starting);
        let kept = if self.stopping { 0 } else { self.floor() };
        let for_kept = kept.saturating_sub(self.healthy() + self.starting);
        // After a failure, one start shows whether others would work. Its end plans again.
        let most = if self.failures > 0 { 1_usize.saturating_sub(self.starting) } else { room };
        let starts = for_waiters.max(for_kept).min(room).min(most);
        self.starting += starts;
        starts
    }

    /// Stops idle instances and starts wanted ones. Returns when to run again.
    pub fn tend(&mut self, now: Instant, effects: &mut Effects<E>) -> Option<Instant> {
        if self.kept_until.is_some_and(|until| until <= now) {
            self.kept_until = None;
        }
        self.asked = self.asked.filter(|(_, until)| *until > now);
        effects.starts += self.plan_starts(now);
        let mut next = self.kept_until;
        let mut sooner = |at: Instant| next = Some(next.map_or(at, |before: Instant| before.min(at)));
        if let Some((_, until)) = self.asked {
            sooner(until);
        }
        let floor = self.floor().max(usize::from(self.kept_until.is_some()));
        let mut spare = self.healthy().saturating_sub(floor);
        let mut by_age: Vec<_> =
            self.members.iter().filter(|m| m.retiring.is_none()).map(|m| (m.last_used, m.id, m.leased)).collect();
        by_age.sort_unstable();
        let mut asleep = Vec::new();
        for (last_used, id, leased) in by_age {
            if spare == 0 {
                break;
            }
            let since = if leased > 0 { now } else { last_used };
            if since + self.bounds.idle <= now {
                spare -= 1;
                asleep.push(id);
            } else {
                sooner(since + self.bounds.idle);
            }
        }
        if let Some(at) = self.retry_at.filter(|at| *at > now) {
            sooner(at);
        }
        if self.is_empty() && self.floor() == 0 {
            let at = self.emptied_at + self.bounds.forget;
            self.closed |= at <= now;
            sooner(at);
        }
        for id in asleep {
            self.retire(id, StopReason::Idle, effects);
        }
        next
    }

    /// Instances that are kept without calls.
    fn floor(&self) -> usize {
        self.wanted.max(self.asked.map_or(0, |(count, _)| count)).min(self.bounds.max)
    }

    /// Called when something points at the binding. After a rollback the idle time restarts, or the
    /// rollback itself would stop the instance.
    pub fn want(&mut self, wanted: usize, now: Instant) {
        self.wanted = wanted;
        if self.kept_until.take().is_some() {
            for member in &mut self.members {
                member.last_used = now;
            }
        }
    }

    /// Keeps `more` instances than there are now, until `until`.
    pub fn ask_for(&mut self, more: usize, until: Instant) {
        let count = self.healthy().saturating_add(self.starting).saturating_add(more);
        self.asked = Some((count.min(self.bounds.max), until));
    }

    /// Stops at most `most` instances, longest idle first, and leaves `least`. Running calls finish
    /// first.
    pub fn let_go(&mut self, most: usize, least: usize, effects: &mut Effects<E>) {
        let mut by_age: Vec<_> = self
            .members
            .iter()
            .filter(|member| member.retiring.is_none())
            .map(|member| (member.leased > 0, member.last_used, member.id))
            .collect();
        by_age.sort_unstable();
        by_age.truncate(most.min(by_age.len().saturating_sub(least)));
        let left = self.healthy() - by_age.len();
        self.asked = self.asked.map(|(count, until)| (count.min(left), until)).filter(|(count, _)| *count > 0);
        for (_, _, id) in by_age {
            self.retire(id, StopReason::Idle, effects);
        }
    }

    /// The instances that take calls.
    pub fn ids(&self) -> Vec<u64> {
        self.members.iter().filter(|member| member.retiring.is_none()).map(|member| member.id).collect()
    }

    /// Refuses new calls from now on. Waiting ones are still served, unless `at_once`.
    pub fn stop(&mut self, at_once: bool, effects: &mut Effects<E>) {
        self.stopping = true;
        if at_once {
            effects.failed.extend(self.waiters.drain(..).map(|waiter| (waiter.answer, CallError::Stopping)));
        }
        for (id, leased) in self.members.iter().map(|member| (member.id, member.leased)).collect::<Vec<_>>() {
            if at_once || (leased == 0 && self.waiters.is_empty()) {
                self.retire(id, StopReason::Shutdown, effects);
            }
            if at_once
                && leased > 0
                && let Some(member) = self.member(id)
            {
                effects.stops.push((member.instance.clone(), StopReason::Shutdown));
            }
        }
    }

    /// Nothing runs, starts or waits.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.starting == 0 && self.waiters.is_empty()
    }

    pub fn healthy(&self) -> usize {
        self.members.iter().filter(|member| member.retiring.is_none()).count()
    }

    fn pausing(&self, now: Instant) -> bool {
        self.retry_at.is_some_and(|at| now < at)
    }

    fn member(&mut self, id: u64) -> Option<&mut Member<E>> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    fn note_emptied(&mut self, now: Instant) {
        if self.is_empty() {
            self.emptied_at = now;
        }
    }
}

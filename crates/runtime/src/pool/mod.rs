//! The instances of one binding, and the assignment of their slots to calls.
//!
//! One mutex guards a small [`state::State`] and is never held across an await. A call takes the
//! most recently used slot, or waits in order. Decisions made under the lock are carried out after
//! it is released. `docs/decisions/005-runtime.md` has the rules.

mod lease;
mod life;
mod load;
mod pools;
mod state;
mod status;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::lease::{Home, Lease};
pub(crate) use self::pools::Pools;
use self::state::{Arrival, Bounds, Effects, RETRY_AFTER, State};
use self::status::Recent;
pub use self::status::{PoolStatus, RecentError};
use crate::call::{CallError, Ended};
use crate::executor::{Call, Executor, Failure, Instance, RequestBody, Slot, StopReason};
use crate::function::Function;
use crate::host::{Host, LogLine, LogSource};

pub(crate) type InstanceOf<E> = <E as Executor>::Instance;
pub(crate) type SlotOf<E> = <InstanceOf<E> as Instance>::Slot;
pub(crate) type BodyOf<E> = <SlotOf<E> as Slot>::Body<Home<E>>;

/// How many instances a call may find ended or out of sync before any of the call is sent. Each is
/// stopped and the next is tried. Equals a function's default number of instances.
const TRIES: u32 = 8;

/// Settings that are the same for all pools.
#[derive(Debug, Clone)]
pub(crate) struct PoolSettings {
    /// Calls that may queue, per slot that the function may have.
    pub queue_per_place: usize,
    /// How long a call waits for a slot.
    pub wait: Duration,
    /// How long an instance may take to become ready.
    pub start: Duration,
    pub recycle: u64,
    pub keep_for_rollback: Duration,
    pub forget: Duration,
}

/// What pools share.
pub(crate) struct Shared<E> {
    pub executor: E,
    pub host: Arc<dyn Host>,
    pub settings: PoolSettings,
    pub tasks: TaskTracker,
    /// Cancels starts in progress when the server stops.
    pub cut: CancellationToken,
}

pub(crate) struct Pool<E: Executor> {
    function: Arc<Function>,
    shared: Arc<Shared<E>>,
    prepared: OnceCell<E::Prepared>,
    state: Mutex<State<E>>,
    recent: Recent,
    /// Wakes the tender task after a change.
    changed: Notify,
    /// Signals that nothing is left. Only awaited while stopping.
    emptied: Notify,
}

/// A call that has a slot, is queued, or was refused.
pub(crate) struct Admission<E: Executor>(Admitted<E>);

enum Admitted<E: Executor> {
    Lease(Lease<E>),
    Wait(Waiting<E>),
    Refused(CallError),
}

struct Waiting<E: Executor> {
    answer: tokio::sync::oneshot::Receiver<Result<Lease<E>, CallError>>,
    place: Place<E>,
}

/// A place in the queue. Dropping it leaves the queue.
struct Place<E: Executor> {
    pool: Arc<Pool<E>>,
    ticket: u64,
}

impl<E: Executor> Drop for Place<E> {
    fn drop(&mut self) {
        self.pool.lock().forget_waiter(self.ticket);
    }
}

impl<E: Executor> Pool<E> {
    fn new(function: Arc<Function>, shared: Arc<Shared<E>>) -> Self {
        let settings = &shared.settings;
        let max = (function.scale.max as usize).max(1);
        let concurrency = (function.scale.concurrency as usize).max(1);
        let bounds = Bounds {
            max,
            concurrency,
            idle: Duration::from_millis(function.scale.idle_ms),
            queue: settings.queue_per_place.saturating_mul(max).saturating_mul(concurrency),
            recycle: settings.recycle,
            forget: settings.forget,
        };
        Self {
            function,
            prepared: OnceCell::new(),
            state: Mutex::new(State::new(bounds, Instant::now())),
            recent: Recent::default(),
            changed: Notify::new(),
            emptied: Notify::new(),
            shared,
        }
    }

    /// Returns `None` if the pool was removed from the map: look it up again.
    pub fn admit(self: &Arc<Self>) -> Option<Admission<E>> {
        let mut effects = Effects::default();
        let arrival = self.lock().arrive(Instant::now(), &mut effects);
        self.carry_out(effects);
        Some(Admission(match arrival {
            Arrival::Slot(member, slot) => Admitted::Lease(Lease::new(self, member, slot)),
            Arrival::Wait(ticket, answer) => {
                Admitted::Wait(Waiting { answer, place: Place { pool: self.clone(), ticket } })
            }
            Arrival::Refused(error) => Admitted::Refused(error),
            Arrival::Closed => return None,
        }))
    }

    pub async fn run<B: RequestBody>(
        self: &Arc<Self>,
        admission: Admission<E>,
        mut call: Call<B>,
    ) -> Result<http::Response<BodyOf<E>>, CallError> {
        let mut admission = Some(admission);
        let mut tries = TRIES;
        loop {
            let lease = match self.lease(admission, call.context.patience).await {
                Ok(lease) => lease,
                Err(error) => {
                    self.report(&call.context.request_id, 0, &error.to_string());
                    return Err(error);
                }
            };
            let Some((slot, home)) = lease.into_parts() else { return Err(CallError::Stopping) };
            let request = call.context.request_id.clone();
            match slot.call(call, home).await {
                Ok(response) => {
                    let status = response.status();
                    if status.is_server_error() {
                        self.report(&request, 0, &format!("the function answered with status {}", status.as_u16()));
                    }
                    return Ok(response);
                }
                Err(Failure::Failed(error)) => return Err(error),
                Err(Failure::NotSent(unsent)) if tries > 1 => {
                    tries -= 1;
                    call = *unsent;
                    admission = self.admit();
                }
                Err(Failure::NotSent(unsent)) => {
                    let error = CallError::Crashed {
                        how: Ended::exited(format!("it ended between two calls, {TRIES} times in a row")),
                    };
                    self.report(&unsent.context.request_id, 0, &error.to_string());
                    return Err(error);
                }
            }
        }
    }

    async fn lease(&self, admission: Option<Admission<E>>, patience: Option<Duration>) -> Result<Lease<E>, CallError> {
        let waiting = match admission {
            Some(Admission(Admitted::Lease(lease))) => return Ok(lease),
            Some(Admission(Admitted::Wait(waiting))) => waiting,
            Some(Admission(Admitted::Refused(error))) => return Err(error),
            None => return Err(CallError::Stopping),
        };
        let Waiting { answer, place } = waiting;
        let longest = self.shared.settings.wait;
        let impatient = patience.filter(|patience| *patience < longest);
        let answer = tokio::time::timeout(impatient.unwrap_or(longest), answer).await;
        drop(place);
        match answer {
            Ok(Ok(outcome)) => outcome,
            // The pool answers every waiter, so the sender is dropped only when the async runtime
            // shuts down.
            Ok(Err(_)) => Err(CallError::Stopping),
            Err(_) => Err(self.given_up(impatient)),
        }
    }

    /// The error after waiting in vain. A call with a shorter patience of its own only gets `Busy`,
    /// because it will retry.
    fn given_up(&self, impatient: Option<Duration>) -> CallError {
        let waited = impatient.unwrap_or(self.shared.settings.wait);
        let state = self.lock();
        match state.lacks_instances().filter(|_| impatient.is_none()) {
            None => CallError::Busy { retry_after: RETRY_AFTER, waited: Some(waited) },
            Some("") if self.prepared.get().is_none() => CallError::NotFetched { reason: self.took_too_long(waited) },
            Some("") => CallError::NotReady { reason: self.took_too_long(waited) },
            Some(_) => state.unready(),
        }
    }

    fn give_back(self: &Arc<Self>, member: u64, slot: SlotOf<E>) {
        self.lend_on(member, slot, true);
    }

    /// For a slot that was not used.
    fn pass_on(self: &Arc<Self>, member: u64, slot: SlotOf<E>) {
        self.lend_on(member, slot, false);
    }

    fn lend_on(self: &Arc<Self>, member: u64, mut slot: SlotOf<E>, mut used: bool) {
        loop {
            let mut effects = Effects::default();
            let next = {
                let mut state = self.lock();
                if std::mem::take(&mut used) {
                    state.returned(member, Instant::now(), &mut effects);
                }
                state.place(member, slot, &mut effects)
            };
            self.carry_out(effects);
            let Some((answer, given)) = next else { return };
            // Sent without holding the lock. If the caller has left, the slot comes back right
            // here. If it leaves while holding the lease, the slot comes back through the lease's
            // drop.
            match answer.send(Ok(Lease::new(self, member, given))) {
                Ok(()) => return,
                Err(unsent) => match unsent.ok().and_then(Lease::into_parts) {
                    Some((back, home)) => {
                        home.defuse();
                        slot = back;
                    }
                    None => return,
                },
            }
        }
    }

    fn broken(self: &Arc<Self>, member: u64, reason: StopReason) {
        let mut effects = Effects::default();
        self.lock().broken(member, reason, &mut effects);
        self.carry_out(effects);
        self.changed.notify_one();
    }

    /// Carries out what was decided under the lock.
    fn carry_out(self: &Arc<Self>, effects: Effects<E>) {
        for _ in 0..effects.starts {
            self.shared.tasks.spawn(self.clone().start());
        }
        for (instance, reason) in effects.stops {
            instance.stop(reason);
        }
        for (answer, error) in effects.failed {
            // The caller may have left.
            let _ = answer.send(Err(error));
        }
    }

    /// Records a fault that a caller saw, in the log under its request id and in the status.
    fn report(&self, request: &str, member: u64, message: &str) {
        let now = self.shared.host.now();
        self.recent.push(RecentError { at: now, request: request.into(), message: message.to_owned() });
        self.say((!request.is_empty()).then(|| request.into()), member, message.to_owned());
    }

    fn say(&self, request: Option<Box<str>>, member: u64, text: String) {
        let function = &self.function;
        self.shared.host.log(LogLine {
            at: self.shared.host.now(),
            app: function.app.clone(),
            function: function.name.clone(),
            number: function.number,
            uid: function.uid.clone(),
            instance: member,
            request,
            source: LogSource::Runtime,
            text,
        });
    }

    fn status(&self) -> PoolStatus {
        let state = self.lock();
        PoolStatus {
            function: self.function.name.clone(),
            number: self.function.number,
            uid: self.function.uid.clone(),
            key: self.function.key,
            instances: state.members.len(),
            ids: state.ids(),
            starting: state.starting,
            busy: state.members.iter().map(|member| member.leased).sum(),
            queued: state.waiters.len(),
            restarts: state.restarts,
            calls: state.served,
            errors: self.recent.failed(),
            recent_errors: self.recent.list(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

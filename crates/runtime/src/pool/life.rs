//! The life cycle of a pool's instances: started for waiting calls or to be kept warm, stopped when
//! idle or on request.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Pool;
use super::state::Effects;
use crate::call::Seconds;
use crate::executor::{Executor, Instance as _, StartError};

/// A start that produced no instance.
struct Failed {
    error: StartError,
    /// Set if the start timed out. Calls with lower tickets had waited for all of that time.
    waited_for_all: Option<u64>,
}

impl From<StartError> for Failed {
    fn from(error: StartError) -> Self {
        Self { error, waited_for_all: None }
    }
}

impl<E: Executor> Pool<E> {
    pub(super) async fn start(self: Arc<Self>) {
        match self.try_start().await {
            Ok(instance) => self.started(Arc::new(instance)),
            Err(failed) => {
                if !self.shared.cut.is_cancelled() {
                    let (app, function, number) = (&self.function.app, &self.function.name, self.function.number);
                    // The reason is not logged here: it may contain arbitrary text of the function.
                    // The function's own log has it.
                    tracing::warn!(%app, %function, number, "no instance of a function became ready; its log has the reason");
                }
                self.report("", 0, &format!("no instance of the function became ready: {}", failed.error));
                let mut effects = Effects::default();
                self.lock().start_failed(&failed.error, failed.waited_for_all, Instant::now(), &mut effects);
                self.carry_out(effects);
                self.after_change();
            }
        }
    }

    async fn try_start(&self) -> Result<E::Instance, Failed> {
        let executor = &self.shared.executor;
        let bound = self.shared.settings.start;
        let start = async {
            let prepared = self.prepared.get_or_try_init(|| executor.prepare(&self.function)).await?;
            let next_ticket = self.lock().next_ticket();
            match tokio::time::timeout(bound, executor.start(&self.function, prepared)).await {
                Ok(outcome) => Ok(outcome?),
                Err(_) => {
                    Err(Failed { error: StartError::new(self.took_too_long(bound)), waited_for_all: Some(next_ticket) })
                }
            }
        };
        tokio::select! {
            outcome = start => outcome,
            () = self.shared.cut.cancelled() => Err(StartError::new("the server is stopping").into()),
        }
    }

    /// The reason when only the waiting time is known.
    pub(super) fn took_too_long(&self, bound: Duration) -> String {
        let bound = Seconds(bound);
        if self.prepared.get().is_none() {
            return format!("its code was not on this machine within {bound}");
        }
        format!("it was not ready within {bound}; its log has what it printed")
    }

    fn started(self: &Arc<Self>, instance: Arc<E::Instance>) {
        let slots = instance.take_slots();
        let member = instance.id();
        let mut effects = Effects::default();
        self.lock().started(instance.clone(), slots.len(), Instant::now(), &mut effects);
        self.carry_out(effects);
        for slot in slots {
            self.pass_on(member, slot);
        }
        let pool = self.clone();
        self.shared.tasks.spawn(async move {
            let how = instance.ended().await;
            pool.ended(member, &how);
        });
        self.after_change();
    }

    fn ended(self: &Arc<Self>, member: u64, how: &str) {
        let mut effects = Effects::default();
        let unasked = self.lock().ended(member, how, Instant::now(), &mut effects);
        self.carry_out(effects);
        if unasked {
            self.say(None, member, format!("the instance ended: {how}"));
        }
        self.after_change();
    }

    fn after_change(&self) {
        self.changed.notify_one();
        if self.lock().is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// Stops idle instances and starts wanted ones until the pool is closed. Runs once per pool.
    pub(super) async fn tend(self: Arc<Self>, on_close: impl FnOnce(&Self)) {
        loop {
            let mut effects = Effects::default();
            let (next, closed) = {
                let mut state = self.lock();
                (state.tend(Instant::now(), &mut effects), state.closed)
            };
            self.carry_out(effects);
            if closed {
                return on_close(&self);
            }
            let changed = self.changed.notified();
            match next {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// Sets how many instances are kept without calls. Returns false if the pool is closed.
    pub(super) fn want(&self, wanted: usize) -> bool {
        let mut state = self.lock();
        state.want(wanted, Instant::now());
        let open = !state.closed;
        drop(state);
        self.changed.notify_one();
        open
    }

    /// Starts `more` instances and keeps them as long as instances kept for a rollback. Returns
    /// false if the pool is closed.
    pub(super) fn ask_for(&self, more: usize) -> bool {
        let until = Instant::now() + self.shared.settings.keep_for_rollback;
        let mut state = self.lock();
        state.ask_for(more, until);
        let open = !state.closed;
        drop(state);
        self.changed.notify_one();
        open
    }

    pub(super) fn let_go(self: &Arc<Self>, most: usize, least: usize) {
        let mut effects = Effects::default();
        self.lock().let_go(most, least, &mut effects);
        self.carry_out(effects);
        self.changed.notify_one();
    }

    /// Called when nothing points at the binding any more. Keeps one warm instance for a while, for
    /// a rollback.
    pub(super) fn release(&self) {
        let until = Instant::now() + self.shared.settings.keep_for_rollback;
        let mut state = self.lock();
        state.wanted = 0;
        state.kept_until = (state.healthy() > 0).then_some(until);
        drop(state);
        self.changed.notify_one();
    }

    /// Lets calls finish until the deadline, then stops everything.
    pub(super) async fn stop(self: Arc<Self>, deadline: Instant) {
        self.begin_stop(false);
        if tokio::time::timeout_at(deadline, self.wait_until_empty()).await.is_err() {
            self.begin_stop(true);
            self.wait_until_empty().await;
        }
        self.lock().closed = true;
        self.changed.notify_one();
    }

    fn begin_stop(self: &Arc<Self>, at_once: bool) {
        let mut effects = Effects::default();
        self.lock().stop(at_once, &mut effects);
        self.carry_out(effects);
    }

    async fn wait_until_empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            let mut emptied = std::pin::pin!(emptied);
            emptied.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

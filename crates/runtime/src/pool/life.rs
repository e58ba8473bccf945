//! How a pool's instances come and go: started when calls wait or somebody wants them warm, put to sleep, stopped.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Pool;
use super::state::Effects;
use crate::call::Seconds;
use crate::executor::{Executor, Instance as _, StartError};

/// A start that made no instance.
struct Failed {
    error: StartError,
    /// It took all the time that it had, and so did the calls with lower tickets that waited for it.
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
                    // Why is the function's own affair, and may be a text of its own with anything in it: its log has that.
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

    /// Why there is no instance, when nothing else is known than how long it was waited for.
    pub(super) fn took_too_long(&self, bound: Duration) -> String {
        let bound = Seconds(bound);
        if self.prepared.get().is_none() {
            return format!("its code was not on this machine within {bound}");
        }
        let (name, number) = (&self.function.name, self.function.number);
        format!(
            "it was not ready within {bound}; `milepost logs --function {name} --version {number}` has what it printed"
        )
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

    /// Stops what sleeps and starts what is wanted, until the pool is closed. Run once for each pool.
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

    /// How many instances are kept although nobody calls. False: the pool is closed.
    pub(super) fn want(&self, wanted: usize) -> bool {
        let mut state = self.lock();
        state.want(wanted, Instant::now());
        let open = !state.closed;
        drop(state);
        self.changed.notify_one();
        open
    }

    /// Starts so many more and keeps them for as long as what a rollback goes back to. False: the pool is closed.
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

    /// Nothing points here any more; what is warm stays for a while, since it is what a rollback goes back to.
    pub(super) fn release(&self) {
        let until = Instant::now() + self.shared.settings.keep_for_rollback;
        let mut state = self.lock();
        state.wanted = 0;
        state.kept_until = (state.healthy() > 0).then_some(until);
        drop(state);
        self.changed.notify_one();
    }

    /// Lets calls end until the deadline, then none.
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

//! Interpreters that were started ahead of time and are not assigned to a function yet. A first
//! call takes one instead of waiting for a start.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use milepost_model::Backoff;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::launcher::Launcher;
use super::worker::Worker;
use crate::executor::StopReason;
use crate::sandbox::interpreters::Interpreter;

/// Backoff after a spare died on its own: starting the next one at once would most likely fail too.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));

pub(crate) struct Spares {
    runtime: milepost_model::spec::Runtime,
    interpreter: Interpreter,
    count: usize,
    waiting: Mutex<VecDeque<Arc<Worker>>>,
    changed: Notify,
    /// A spare was taken since the last check.
    useful: AtomicBool,
    /// The last message of a spare that ended on its own.
    complaint: Mutex<Option<String>>,
}

impl Spares {
    pub fn new(runtime: milepost_model::spec::Runtime, interpreter: Interpreter, count: usize) -> Self {
        Self {
            runtime,
            interpreter,
            count,
            waiting: Mutex::default(),
            changed: Notify::new(),
            useful: AtomicBool::new(false),
            complaint: Mutex::default(),
        }
    }

    pub fn runtime(&self) -> milepost_model::spec::Runtime {
        self.runtime
    }

    /// How many spares there should be, and how many are waiting.
    pub fn counts(&self) -> (usize, usize) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        (self.count, waiting.iter().filter(|worker| !worker.has_ended()).count())
    }

    /// Takes the oldest living spare: it is the most likely to have finished its own start.
    pub fn take(&self) -> Option<Arc<Worker>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::iter::from_fn(|| waiting.pop_front()).find(|worker| !worker.has_ended())?;
        self.useful.store(true, Ordering::Relaxed);
        Some(taken)
    }

    /// Called after a start, so that the next interpreter does not compete with it for CPU time.
    pub fn refill(&self) {
        self.changed.notify_one();
    }

    /// Keeps `count` spares running until the server stops.
    pub async fn keep(self: Arc<Self>, launcher: Arc<Launcher>) {
        launcher.compile_workers(self.runtime, &self.interpreter).await;
        let mut backoff = BACKOFF;
        let mut not_before = Instant::now();
        loop {
            let (living, died) = self.count_living();
            // A taken spare may be about to die like those before it, so it does not reset the
            // backoff then.
            if self.useful.swap(false, Ordering::Relaxed) && !died {
                backoff.reset();
            }
            if died {
                not_before = Instant::now() + backoff.next_delay();
            }
            let missing = living < self.count;
            if missing && Instant::now() >= not_before {
                match launcher.launch_interpreter(self.runtime, &self.interpreter, None).await {
                    Ok(worker) => self.add(worker),
                    Err(error) => {
                        tracing::warn!(runtime = %self.runtime, %error, "a spare interpreter could not be started");
                        not_before = Instant::now() + backoff.next_delay();
                    }
                }
                continue;
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep_until(not_before), if missing => {}
                () = launcher.machine().stopping() => break,
            }
        }
        for worker in self.waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            worker.kill(StopReason::Shutdown);
        }
    }

    fn add(self: &Arc<Self>, worker: Arc<Worker>) {
        let (spares, watched) = (self.clone(), worker.clone());
        worker.runtime.spawn(async move {
            watched.ended().await;
            spares.changed.notify_one();
        });
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(worker);
    }

    /// Logs each cause once: the next spare dies of it as well.
    fn complain(&self, said: String) {
        let mut last = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() == Some(&said) {
            return;
        }
        let (runtime, version) = (self.runtime, &self.interpreter.version);
        tracing::warn!(%runtime, %version, said, "a spare interpreter ended by itself; others are tried, with longer and longer pauses");
        *last = Some(said);
    }

    fn count_living(&self) -> (usize, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.len();
        waiting.retain(|worker| {
            let ended = worker.has_ended();
            if ended {
                self.complain(worker.output.aside());
            }
            !ended
        });
        (waiting.len(), waiting.len() < before)
    }
}

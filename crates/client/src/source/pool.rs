//! A thread pool for jobs that create more jobs, with one thread per core.

use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More threads than this only compete for the file system.
const MAX_THREADS: usize = 8;

struct Pool<J, E> {
    state: Mutex<State<J, E>>,
    news: Condvar,
}

struct State<J, E> {
    jobs: Vec<J>,
    running: usize,
    failed: Option<E>,
}

/// Runs `first` and all jobs that it leads to. Each thread collects into its own `F`; the first
/// error stops all threads.
pub(super) fn run<J: Send, F: Default + Send, E: Send>(
    first: J,
    work: impl Fn(J, &mut F, &mut Vec<J>) -> Result<(), E> + Sync,
) -> Result<Vec<F>, E> {
    let state = State { jobs: vec![first], running: 0, failed: None };
    let pool = Pool { state: Mutex::new(state), news: Condvar::new() };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let worker = || {
        let mut found = F::default();
        while let Some(job) = pool.next() {
            // A guard, so that a panic in the job also ends it; otherwise the other threads would
            // wait forever.
            let _running = Running(&pool);
            let mut more = Vec::new();
            let result = work(job, &mut found, &mut more);
            pool.add(more, result);
        }
        found
    };
    let parts = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut parts = vec![worker()];
        for other in others {
            match other.join() {
                Ok(part) => parts.push(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        parts
    });
    let failed = pool.lock().failed.take();
    failed.map_or(Ok(parts), Err)
}

impl<J, E> Pool<J, E> {
    fn lock(&self) -> MutexGuard<'_, State<J, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a job. `None` when all work is done or a job has failed.
    fn next(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.running += 1;
                return Some(job);
            }
            if state.running == 0 {
                return None;
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, more: Vec<J>, result: Result<(), E>) {
        if more.is_empty() && result.is_ok() {
            return;
        }
        let mut state = self.lock();
        state.jobs.extend(more);
        if let Err(error) = result {
            state.failed.get_or_insert(error);
        }
        drop(state);
        self.news.notify_all();
    }
}

struct Running<'a, J, E>(&'a Pool<J, E>);

impl<J, E> Drop for Running<'_, J, E> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running -= 1;
        if state.running == 0 {
            self.0.news.notify_all();
        }
    }
}

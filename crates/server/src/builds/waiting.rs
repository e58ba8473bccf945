//! Limits how many requests wait for a build. Each holds a connection, and one app must not fill
//! the queue for all others.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost_model::{AppName, Code, Next, Refusal};

const MOST: usize = 64;
const MOST_OF_ONE_APP: usize = 16;

/// The number of waiting requests by app. Apps without any have no entry.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<AppName, usize>>);

/// A waiting request; leaves the queue when dropped.
pub(super) struct Waits<'a> {
    line: &'a Waiting,
    app: AppName,
}

impl Waiting {
    pub(super) fn join(&self, app: &AppName) -> Result<Waits<'_>, Refusal> {
        let mut line = self.lock();
        let of_app = line.get(app).copied().unwrap_or_default();
        let message = if of_app >= MOST_OF_ONE_APP {
            format!("{MOST_OF_ONE_APP} builds of app `{app}` are already waiting")
        } else if line.values().sum::<usize>() >= MOST {
            format!("{MOST} builds are already waiting on this server")
        } else {
            line.insert(app.clone(), of_app + 1);
            return Ok(Waits { line: self, app: app.clone() });
        };
        Err(Refusal::new(Code::Unavailable, message).next(Next::Wait))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AppName, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut line = self.line.lock();
        if let Some(count) = line.get_mut(&self.app) {
            *count -= 1;
            if *count == 0 {
                line.remove(&self.app);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_the_queue_per_app_and_in_total() {
        let line = Waiting::default();
        let app = |number: usize| format!("app-{number}").parse::<AppName>().expect("a name");
        let mut waits = Vec::new();
        for number in 0..MOST / MOST_OF_ONE_APP {
            for _ in 0..MOST_OF_ONE_APP {
                waits.push(line.join(&app(number)).expect("room"));
            }
            let refusal = line.join(&app(number)).err().expect("the app has no room");
            assert!(refusal.message.contains("16 builds of app"), "{}", refusal.message);
        }
        let refusal = line.join(&app(99)).err().expect("the queue is full");
        assert!(refusal.message.contains("64 builds are already waiting"), "{}", refusal.message);
        waits.pop();
        drop(line.join(&app(99)).expect("room again"));
        waits.clear();
        assert!(line.lock().is_empty());
    }
}

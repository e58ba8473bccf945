//! Collects the log lines of single requests as they are written. Used for executions, which store
//! their log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use milepost_model::execution::MAX_LOG;
use milepost_runtime::LogLine;

/// The runtime limits what a request may write. The margin is for the runtime's own lines about
/// that.
const MOST: usize = 2 * MAX_LOG;

#[derive(Default)]
pub(super) struct Taps {
    /// Lets lines of ordinary requests skip the lock.
    open: AtomicUsize,
    texts: Mutex<HashMap<Box<str>, String>>,
}

impl Taps {
    pub(super) fn open(&self, request: &str) -> Tap<'_> {
        if let Entry::Vacant(free) = self.lock().entry(request.into()) {
            free.insert(String::new());
            self.open.fetch_add(1, Ordering::Relaxed);
        }
        Tap { taps: self, request: request.into() }
    }

    pub(super) fn pass(&self, line: &LogLine) {
        if self.open.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(request) = &line.request else { return };
        if let Some(text) = self.lock().get_mut(request)
            && text.len() + line.text.len() < MOST
        {
            text.push_str(&line.text);
            text.push('\n');
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, String>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Collects the lines of a request until dropped.
pub(crate) struct Tap<'t> {
    taps: &'t Taps,
    request: Box<str>,
}

impl Tap<'_> {
    /// Takes the lines written so far, oldest first.
    pub(crate) fn take(&self) -> String {
        self.taps.lock().get_mut(&self.request).map(std::mem::take).unwrap_or_default()
    }
}

impl Drop for Tap<'_> {
    fn drop(&mut self) {
        if self.taps.lock().remove(&self.request).is_some() {
            self.taps.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use milepost_model::Timestamp;
    use milepost_runtime::LogSource;

    use super::*;

    fn line(request: Option<&str>, text: &str) -> LogLine {
        LogLine {
            at: Timestamp::UNIX_EPOCH,
            app: "shop".parse().expect("a name"),
            function: "f".parse().expect("a name"),
            number: 1,
            uid: "x".to_owned(),
            instance: 1,
            request: request.map(Into::into),
            source: LogSource::Stdout,
            text: text.to_owned(),
        }
    }

    #[test]
    fn tap_collects_only_lines_of_its_request() {
        let taps = Taps::default();
        let tap = taps.open("one");
        taps.pass(&line(Some("one"), "a"));
        taps.pass(&line(Some("two"), "b"));
        taps.pass(&line(None, "c"));
        taps.pass(&line(Some("one"), "d"));
        assert_eq!(tap.take(), "a\nd\n");
        drop(tap);
        taps.pass(&line(Some("one"), "e"));
        assert_eq!(taps.open.load(Ordering::Relaxed), 0);
        assert_eq!(taps.open("one").take(), "");
    }
}

//! Ctrl-C while something is on its way: ends at once, and says what that means.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Result;
use crate::output::Ui;

/// As shells tell of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// A question that nobody answers, or a thread that reads a file, does not hear of it.
const GRACE: Duration = Duration::from_millis(200);
/// To take back what was made; a second Ctrl-C does not wait for it.
const UNDOING: Duration = Duration::from_secs(5);

/// Whether a change is on its way and nobody knows whether it landed.
static LANDING: AtomicBool = AtomicBool::new(false);

type Undo = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// What to do before the end, when it comes early.
static UNDO: Mutex<Option<Undo>> = Mutex::new(None);

pub fn undo_with(undo: impl Future<Output = ()> + Send + 'static) {
    *UNDO.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::pin(undo));
}

pub fn nothing_to_undo() {
    UNDO.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// Runs the one request that changes something.
pub async fn landing<T>(work: impl Future<Output = T>) -> T {
    LANDING.store(true, Ordering::SeqCst);
    let done = work.await;
    LANDING.store(false, Ordering::SeqCst);
    done
}

/// Runs `work` to its end or to Ctrl-C. What it held is let go, so that the server hears of it and cancels builds.
pub async fn stoppable<T>(ui: &Ui, work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let heard = stop.clone();
    let listening = tokio::spawn(async move {
        interrupts.recv().await;
        heard.cancel();
        let patience = if UNDO.lock().unwrap_or_else(PoisonError::into_inner).is_some() { UNDOING } else { GRACE };
        tokio::select! {
            () = tokio::time::sleep(patience) => {}
            _ = interrupts.recv() => {}
        }
        // The question stands in an unfinished line.
        eprintln!();
        std::process::exit(INTERRUPTED);
    });
    let done = {
        // Dropped at the end of the block, before the process ends.
        let work = std::pin::pin!(work);
        tokio::select! {
            done = work => Some(done),
            () = stop.cancelled() => None,
        }
    };
    match done {
        Some(done) => {
            listening.abort();
            done
        }
        None => {
            if LANDING.load(Ordering::SeqCst) {
                ui.warn(
                    "stopped while the change was on its way; `milepost app list-version` shows whether it was made",
                );
            } else {
                let undo = UNDO.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(undo) = undo {
                    undo.await;
                }
                ui.say("Stopped; nothing was changed.");
            }
            std::process::exit(INTERRUPTED);
        }
    }
}

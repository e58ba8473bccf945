//! Handles Ctrl-C during a change: stops immediately and reports whether anything was changed.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Result;
use crate::output::Ui;

/// The exit status that shells report for SIGINT.
const INTERRUPTED: i32 = 130;
/// How long to wait for a prompt or a file read, which cannot be interrupted.
const GRACE: Duration = Duration::from_millis(200);
/// How long to wait for the undo. A second Ctrl-C skips it.
const UNDOING: Duration = Duration::from_secs(5);

/// Whether a change was sent and its outcome is not known yet.
static LANDING: AtomicBool = AtomicBool::new(false);

type Undo = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// What to undo on an interrupt.
static UNDO: Mutex<Option<Undo>> = Mutex::new(None);

pub fn undo_with(undo: impl Future<Output = ()> + Send + 'static) {
    *UNDO.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::pin(undo));
}

pub fn nothing_to_undo() {
    UNDO.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// Marks the one request that changes something as in flight.
pub async fn landing<T>(work: impl Future<Output = T>) -> T {
    LANDING.store(true, Ordering::SeqCst);
    let done = work.await;
    LANDING.store(false, Ordering::SeqCst);
    done
}

/// Runs `work` until it ends or Ctrl-C is pressed. Dropping it closes its connections, so the
/// server cancels its builds.
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
        // A prompt may have left the line unfinished.
        eprintln!();
        std::process::exit(INTERRUPTED);
    });
    let done = {
        // Dropped at the end of the block, before the process exits.
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
                    "interrupted while the change was being made; run `milepost app list-version` to see whether it was",
                );
            } else {
                let undo = UNDO.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(undo) = undo {
                    undo.await;
                }
                ui.say("Interrupted, nothing was changed.");
            }
            std::process::exit(INTERRUPTED);
        }
    }
}

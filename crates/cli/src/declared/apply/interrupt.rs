//! Ctrl-C while something is on its way: ends at once, and says what that means.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Result;
use crate::output::Ui;

/// As shells tell of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// A question that nobody answers, or a thread that reads a file, does not hear of it.
const GRACE: Duration = Duration::from_millis(200);

/// Whether a change is on its way and nobody knows whether it landed.
static LANDING: AtomicBool = AtomicBool::new(false);

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
        tokio::time::sleep(GRACE).await;
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
                ui.say("Stopped; nothing was changed.");
            }
            std::process::exit(INTERRUPTED);
        }
    }
}

//! Handles Ctrl-C during a change: stops immediately and reports whether anything was changed.

use std::future::Future;
use std::time::Duration;

use milepost_declared::InFlight;
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

/// Runs `work` until it ends or Ctrl-C is pressed. Dropping it closes its connections, so the
/// server cancels its builds.
pub async fn stoppable<T>(ui: &Ui, in_flight: &InFlight, work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let heard = stop.clone();
    let undone = in_flight.clone();
    let listening = tokio::spawn(async move {
        interrupts.recv().await;
        heard.cancel();
        let patience = if undone.has_undo() { UNDOING } else { GRACE };
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
            if in_flight.is_landing() {
                ui.warn(
                    "interrupted while the change was being made; run `milepost app list-version` to see whether it was",
                );
            } else {
                if let Some(undo) = in_flight.take_undo() {
                    undo.await;
                }
                ui.say("Interrupted, nothing was changed.");
            }
            std::process::exit(INTERRUPTED);
        }
    }
}

//! Progress bars and spinners.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use milepost_declared::reporter::{Activity, Progress};
use milepost_model::UnitPut;
use milepost_model::change::Change;

use crate::output::Ui;

/// Cleared when dropped.
pub struct Bar {
    bar: ProgressBar,
    /// Whether the bar appears once the total is known.
    appears: bool,
}

pub fn bar(ui: &Ui, activity: Activity<'_>) -> Arc<dyn Progress> {
    Arc::new(match activity {
        Activity::Upload => bytes_bar(ui, "Uploading"),
        Activity::Download => {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
            styled(ui, bar, "Downloading [{bar:30}] {pos}/{len} {msg}")
        }
        Activity::Change(change) => Bar { bar: check_spinner(ui, change), appears: false },
    })
}

/// A bar for an upload, hidden until there is something to send.
pub fn bytes_bar(ui: &Ui, what: &str) -> Bar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
    bar.set_message(what.to_owned());
    styled(ui, bar, "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}")
}

fn styled(ui: &Ui, bar: ProgressBar, template: &str) -> Bar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Bar { bar, appears: ui.shows_progress() }
}

/// A spinner for a change that makes the server load functions, hidden for any other change.
fn check_spinner(ui: &Ui, change: &Change) -> ProgressBar {
    let functions = change.puts.iter().filter(|put| matches!(put.unit, UnitPut::Function(_))).count();
    if change.dry_run || !change.check || !change.release || functions == 0 {
        return ProgressBar::hidden();
    }
    drawn(ui, "Checking that the new functions load")
}

/// A spinner with the time that passed, for requests that may take long.
pub fn spinner(ui: &Ui, message: &'static str) -> Bar {
    Bar { bar: drawn(ui, message), appears: false }
}

fn drawn(ui: &Ui, message: &'static str) -> ProgressBar {
    if !ui.shows_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(message);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl Progress for Bar {
    fn set_total(&self, total: u64) {
        self.bar.set_length(total);
        if self.appears {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    fn set_item(&self, name: &str) {
        self.bar.set_message(name.to_owned());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

//! The check of a release, as commands that make one show it: what did not load and why, and what users get instead.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use milepost_model::UnitPut;
use milepost_model::change::Change;
use milepost_model::check::{CheckState, ReleaseCheck};
use std::time::Duration;

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::{Ui, printable};

/// The option of everything that makes a release.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckArgs {
    /// Do not load the new functions before the release goes live; this is recorded
    #[arg(long)]
    pub no_check: bool,
}

/// Shows what a check found. Fails when a function did not load: the release is kept, and users do not get it. `is_new`: the
/// command made the release.
pub async fn tell(context: &Context<'_>, check: &ReleaseCheck, release: Option<&str>, is_new: bool) -> Result<()> {
    match check.state {
        CheckState::Failed => {}
        CheckState::Pending => {
            context.ui.warn("the newest release is still being checked; `milepost release list` shows when it is done");
            return Ok(());
        }
        CheckState::None | CheckState::Passed | CheckState::Skipped => return Ok(()),
    }
    for line in lines(check) {
        context.ui.say(&line);
    }
    // Best effort: without it the failure is the same.
    let live = context.client.live_get(&context.app).await.ok().and_then(|live| live.release);
    let stays = match &live {
        Some(live) => format!("users still get release {}", live.id),
        None => "nothing is live".to_owned(),
    };
    let what = match release {
        Some(release) => format!("release {release} was not put live, because it does not load; {stays}"),
        None => format!("the newest version of app {} is not live, because it does not load; {stays}", context.app),
    };
    let next = if is_new {
        "fix it and deploy again"
    } else {
        "fix it and deploy again, or check it once more with `milepost release create`"
    };
    Err(Failure::new(what).hint(next))
}

/// Each function that did not load, its reason and the last lines that it wrote.
pub fn lines(check: &ReleaseCheck) -> Vec<String> {
    let mut lines = Vec::new();
    for function in check.failed() {
        let (name, number) = (&function.name, function.number);
        lines.push(format!("Function {name} version {number} does not load: {}", printable(&function.reason)));
        lines.extend(function.log.iter().map(|line| format!("  | {}", printable(line))));
    }
    lines
}

/// A bar that leaves nothing behind.
pub struct Cleared(pub ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Moves while the server may be loading functions.
pub fn progress(ui: &Ui, change: &Change) -> ProgressBar {
    let functions = change.puts.iter().filter(|put| matches!(put.unit, UnitPut::Function(_))).count();
    if !ui.shows_progress() || change.dry_run || !change.check || !change.release || functions == 0 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message("Checking that the new functions load");
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

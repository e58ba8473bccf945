//! Output of a release check: which functions failed to load and why, and what stays live.

use clap::Args;
use milepost_model::check::{CheckState, ReleaseCheck};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::output::printable;

/// Options of commands that create a release.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckArgs {
    /// Skip loading new functions before the release goes live; the skip is recorded
    #[arg(long)]
    pub no_check: bool,
}

/// Shows the result of a check. Fails if a function did not load: the release is kept, but does not
/// go live. `is_new` is whether this command created the release.
pub async fn tell(context: &Context<'_>, check: &ReleaseCheck, release: Option<&str>, is_new: bool) -> Result<()> {
    match check.state {
        CheckState::Failed => {}
        CheckState::Pending => {
            context.ui.warn("the newest release is still being checked; run `milepost release list` to see its state");
            return Ok(());
        }
        CheckState::None | CheckState::Passed | CheckState::Skipped => return Ok(()),
    }
    for line in lines(check) {
        context.ui.explain(&line);
    }
    // Best effort: it only adds detail to the message.
    let live = context.client.live_get(&context.app).await.ok().and_then(|live| live.release);
    let stays = match &live {
        Some(live) => format!("users still get release {}", live.id),
        None => "nothing is live".to_owned(),
    };
    let what = match release {
        Some(release) => format!("release {release} did not go live, because it does not load; {stays}"),
        None => format!("the newest version of app {} is not live, because it does not load; {stays}", context.app),
    };
    let next = if is_new {
        "fix it and deploy again"
    } else {
        "fix it and deploy again, or repeat the check with `milepost release create`"
    };
    Err(Failure::new(what).hint(next))
}

/// Each function that failed to load, with the reason and its last output lines.
pub fn lines(check: &ReleaseCheck) -> Vec<String> {
    let mut lines = Vec::new();
    for function in check.failed() {
        let (name, number) = (&function.name, function.number);
        lines.push(format!("Function {name} version {number} does not load: {}", printable(&function.reason)));
        lines.extend(function.log.iter().map(|line| format!("  | {}", printable(line))));
    }
    lines
}

use clap::Args;
use milepost_client::api::{RollBack, RolledBack};

use crate::args::slots::BackToArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;
use crate::output::diff_text;

/// Roll live back to the previous release
///
/// Functions, configuration, files, secrets and routes go back together. Live is then pinned: new
/// releases do not go live until `milepost release live --follow`. To change what is live while it
/// is pinned, add `--on live` to a command, like `milepost config set KEY=VALUE --on live`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    to: BackToArgs,
    /// The reason, for the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub async fn run(context: &Context<'_>, args: RollbackArgs) -> Result<()> {
    let mut request = RollBack { to: args.to.find("to").map(str::to_owned), why: args.why, dry_run: true };
    let preflight = context.client.rollback(&context.app, &request).await?;
    if args.dry_run {
        return context.ui.show(&preflight, |report| vec![report.to.id.to_string()], report_text);
    }
    if context.ui.can_ask() && !context.yes {
        context.ui.say(&report_text(&preflight));
        context.confirm("Roll back?", Unattended::Proceed)?;
    }
    for problem in &preflight.problems {
        context.ui.warn(problem);
    }
    request.dry_run = false;
    if !preflight.released_again {
        // Rolls back to the release that was shown, even if live moved in the meantime.
        request.to = Some(preflight.to.id.clone());
    }
    let done = context.client.rollback(&context.app, &request).await?;
    context.ui.show(&done, |report| vec![report.to.id.to_string()], report_text)
}

fn report_text(report: &RolledBack) -> String {
    let mut lines = Vec::new();
    let from = report.from.as_ref().map_or_else(|| "nothing".to_owned(), |release| format!("release {}", release.id));
    let verb = if report.dry_run { "would move" } else { "moved" };
    let again = match (report.released_again, report.dry_run) {
        (true, false) => " (released again)",
        (true, true) => " (released again under a new id)",
        _ => "",
    };
    let to = if report.released_again && report.dry_run {
        format!("app version {}", report.to.app_version)
    } else {
        format!("release {}", report.to.id)
    };
    let stays = report.from.as_ref().is_some_and(|release| !report.released_again && release.id == report.to.id);
    lines.push(match (stays, report.dry_run) {
        (true, false) => format!("Live stays at {to} and is pinned."),
        (true, true) => format!("Live would stay at {to} and be pinned."),
        (false, true) => format!("Live {verb} from {from} to {to}{again} and be pinned."),
        (false, false) => format!("Live {verb} from {from} to {to}{again} and is pinned."),
    });
    if report.changes.is_empty() {
        lines.push("No differences.".to_owned());
    } else {
        lines.push(diff_text(&report.changes));
    }
    if !report.expired.is_empty() {
        let verb = if report.dry_run { "Would expire" } else { "Expired" };
        lines.push(format!("{verb}: release {}", report.expired.join(", ")));
    }
    if report.dry_run {
        lines.extend(report.problems.iter().map(|problem| format!("! {problem}")));
    }
    lines.join("\n")
}

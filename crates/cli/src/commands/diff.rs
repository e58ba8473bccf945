use clap::Args;
use milepost_client::api::Diff;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Listed, diff_text_of, line_diffs};

/// Compare two app versions or releases
///
/// Each side is an app version (uid or number), a release, a tag, `live`, `latest`, or `head` for
/// the newest app version. Lists the units that differ, then the changed lines of text files.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Earlier side
    #[arg(value_name = "A")]
    from: String,
    /// Later side
    #[arg(value_name = "B")]
    to: String,
    /// Show only names and sizes of files, not their lines
    #[arg(long)]
    stat: bool,
    /// Show all files, including those that a build created
    #[arg(long)]
    all_files: bool,
}

pub async fn run(context: &Context<'_>, args: DiffArgs) -> Result<()> {
    let diff = if args.stat {
        context.client.diff(&context.app, &args.from, &args.to).await?
    } else {
        context.client.diff_with_text(&context.app, &args.from, &args.to).await?
    };
    for gone in &diff.gone {
        context.ui.warn(&format!("{gone}; it cannot be compared"));
    }
    let color = context.ui.colors_data();
    context.ui.show_painted(
        &diff,
        |diff| diff.changes.iter().map(|change| format!("{}/{}", change.kind, change.name)).collect(),
        |diff| text(diff, &args, color),
    )
}

fn text(diff: &Diff, args: &DiffArgs, color: bool) -> String {
    if diff.changes.is_empty() {
        return match diff.gone.is_empty() {
            true if diff.from.id == diff.to.id => format!("Both are app version {}.", diff.from.id),
            true => format!("No differences between {} and {}.", diff.from.id, diff.to.id),
            false => "No other differences.".to_owned(),
        };
    }
    let listed = if args.all_files { Listed::All } else { Listed::Main };
    let units = diff_text_of(&diff.changes, listed);
    let lines = line_diffs(&diff.changes, listed, color);
    if lines.is_empty() { units } else { format!("{units}\n\n{lines}") }
}

use clap::Args;

use crate::context::Context;
use crate::failure::Result;
use crate::output::diff_text;

/// Compare two app versions or releases, field by field and file by file
///
/// Each side is an app version (uid or number), a release, a tag, `live`, `latest`, or `head` for the newest app version.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier side
    #[arg(value_name = "A")]
    from: String,
    /// The later side
    #[arg(value_name = "B")]
    to: String,
}

pub async fn run(context: &Context<'_>, args: DiffArgs) -> Result<()> {
    let diff = context.client.diff(&context.app, &args.from, &args.to).await?;
    for gone in &diff.gone {
        context.ui.warn(&format!("{gone}; it cannot be compared"));
    }
    context.ui.show(
        &diff,
        |diff| diff.changes.iter().map(|change| format!("{}/{}", change.kind, change.name)).collect(),
        |diff| {
            if diff.changes.is_empty() {
                format!("{} and {} hold the same.", diff.from.id, diff.to.id)
            } else {
                diff_text(&diff.changes)
            }
        },
    )
}

use clap::Args;

use crate::commands::alias::history::moves_table;
use crate::context::Context;
use crate::failure::Result;

/// Show the moves of live, latest or a tag, newest first
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// `live`, `latest` or a tag
    #[arg(default_value = "live")]
    pointer: String,
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: i64,
}

pub async fn run(context: &Context<'_>, args: HistoryArgs) -> Result<()> {
    let page = context.client.release_pointer_history(&context.app, &args.pointer, args.limit).await?;
    context.ui.show(
        &page.items,
        |moves| moves.iter().filter_map(|step| step.to.clone()).collect(),
        |moves| moves_table(moves),
    )
}

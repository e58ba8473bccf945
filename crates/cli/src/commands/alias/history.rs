use clap::Args;
use milepost_model::pointer::PointerMove;

use crate::args::slots::AliasArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List the moves of an alias, newest first
#[derive(Debug, Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    alias: AliasArgs,
    /// Maximum number of moves to list
    #[arg(long, default_value_t = 50)]
    limit: i64,
}

pub async fn run(context: &Context<'_>, args: HistoryArgs) -> Result<()> {
    let page = context.client.alias_history(&context.app, args.alias.name(), args.alias.alias(), args.limit).await?;
    context.ui.show(
        &page.items,
        |moves| moves.iter().filter_map(|step| step.to.clone()).collect(),
        |moves| moves_table(moves),
    )
}

pub fn moves_table(moves: &[PointerMove]) -> String {
    let mut table = Table::new(["WHEN", "BY", "FROM", "TO", "WHY"], "No moves yet.");
    for step in moves {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".to_owned());
        table.row([local(step.at), step.by.clone(), side(&step.from), side(&step.to), step.why.clone()]);
    }
    table.render()
}

use clap::Args;

use super::get;
use crate::args::slots::MovedAliasArgs;
use crate::context::Context;
use crate::failure::Result;

/// Point an alias at another version
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    alias: MovedAliasArgs,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    let alias = context
        .client
        .alias_update(&context.app, args.alias.name(), args.alias.alias(), args.alias.version().parse()?, args.why)
        .await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

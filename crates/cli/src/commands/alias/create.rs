use clap::Args;

use super::get;
use crate::args::slots::NewAliasArgs;
use crate::context::Context;
use crate::failure::Result;

/// Create an alias
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    alias: NewAliasArgs,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let alias = context
        .client
        .alias_create(&context.app, args.alias.name(), args.alias.alias(), args.alias.version().parse()?, args.why)
        .await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

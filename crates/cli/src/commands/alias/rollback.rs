use clap::Args;

use super::get;
use crate::args::slots::AliasArgs;
use crate::context::Context;
use crate::failure::Result;

/// Move an alias back to its previous version
///
/// Each further rollback goes one move further back.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    alias: AliasArgs,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "", hide_default_value = true)]
    why: String,
}

pub async fn run(context: &Context<'_>, args: RollbackArgs) -> Result<()> {
    let alias = context.client.alias_rollback(&context.app, args.alias.name(), args.alias.alias(), args.why).await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

use clap::Args;

use super::get;
use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::Result;

/// Move an alias back to its previous version
///
/// Each further rollback goes one move further back.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Alias to move
    #[arg(long, value_name = "ALIAS")]
    alias: String,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: RollbackArgs) -> Result<()> {
    let alias = context.client.alias_rollback(&context.app, args.name.get(), &args.alias, args.why).await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

use clap::Args;

use super::get;
use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::Result;

/// Move an alias back to where it was before
///
/// A second rollback goes further back.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    name: NameArgs,
    /// The alias
    #[arg(long, value_name = "ALIAS")]
    alias: String,
    /// Why, for the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: RollbackArgs) -> Result<()> {
    let alias = context.client.alias_rollback(&context.app, args.name.get(), &args.alias, args.why).await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

use clap::Args;

use crate::args::slots::AliasArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete an alias; its version is kept
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    alias: AliasArgs,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete alias {} of {}?", args.alias.alias(), args.alias.name()), Unattended::Proceed)?;
    context.client.alias_delete(&context.app, args.alias.name(), args.alias.alias()).await?;
    context.ui.say(&format!("Alias {} of {} deleted; its version is kept.", args.alias.alias(), args.alias.name()));
    Ok(())
}

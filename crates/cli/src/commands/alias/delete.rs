use clap::Args;

use crate::commands::shared::NameArgs;
use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete an alias; its version is kept
#[derive(Debug, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Alias to delete
    #[arg(long, value_name = "ALIAS")]
    alias: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete alias {} of {}?", args.alias, args.name.get()), Unattended::Proceed)?;
    context.client.alias_delete(&context.app, args.name.get(), &args.alias).await?;
    context.ui.say(&format!("Alias {} of {} deleted; its version is kept.", args.alias, args.name.get()));
    Ok(())
}

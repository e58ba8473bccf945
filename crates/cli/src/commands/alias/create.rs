use clap::Args;

use super::get;
use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::Result;

/// Create an alias
#[derive(Debug, Args)]
pub struct CreateArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Alias to create
    #[arg(long, value_name = "ALIAS")]
    alias: String,
    /// Version to point at: `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    version: String,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: CreateArgs) -> Result<()> {
    let alias = context
        .client
        .alias_create(&context.app, args.name.get(), &args.alias, args.version.parse()?, args.why)
        .await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

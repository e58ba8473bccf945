use clap::Args;

use super::get;
use crate::commands::shared::NameArgs;
use crate::context::Context;
use crate::failure::Result;

/// Point an alias at another version
#[derive(Debug, Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    name: NameArgs,
    /// Alias to move
    #[arg(long, value_name = "ALIAS")]
    alias: String,
    /// Version to point at: `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// Reason, recorded in the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    let alias = context
        .client
        .alias_update(&context.app, args.name.get(), &args.alias, args.version.parse()?, args.why)
        .await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], get::text)
}

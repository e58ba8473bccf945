use clap::Args;

use super::get;
use crate::context::Context;
use crate::failure::Result;

/// Point an alias at another version
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The function
    #[arg(long, value_name = "FUNCTION")]
    name: String,
    /// The alias
    #[arg(long, value_name = "ALIAS")]
    alias: String,
    /// The version: `latest`, a number, a uid, a label, `@alias` or `sha256:…`
    #[arg(long, value_name = "VERSION", default_value = "latest")]
    version: String,
    /// Why, for the history
    #[arg(short = 'm', long, default_value = "")]
    why: String,
}

pub async fn run(context: &Context<'_>, args: UpdateArgs) -> Result<()> {
    let alias =
        context.client.alias_update(&context.app, &args.name, &args.alias, args.version.parse()?, args.why).await?;
    context.ui.show(&alias, |alias| vec![format!("alias/{}", alias.name)], get::text)
}

use clap::Args;
use milepost_model::pointer::Alias;

use crate::args::slots::AliasArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// Show an alias
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    alias: AliasArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let alias = context.client.alias_get(&context.app, args.alias.name(), args.alias.alias()).await?;
    context.ui.show(&alias, |alias| vec![alias.name.to_string()], text)
}

pub fn text(alias: &Alias) -> String {
    let label = alias.label.as_ref().map(|label| format!(" {label}")).unwrap_or_default();
    format!(
        "Alias {} of {} points at version {}{label} (uid {}), moved {} by {}.",
        alias.name,
        alias.function,
        alias.number,
        alias.version,
        local(alias.moved_at),
        alias.moved_by
    )
}

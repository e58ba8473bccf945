use clap::Args;
use milepost_model::{Label, UnitKind};

use crate::commands::shared::NameArgs;
use crate::context::{Context, unit_key};
use crate::failure::Result;
use crate::output::{Table, local};

/// List the aliases of a function
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let aliases = context.client.alias_list(&context.app, args.name.name()).await?;
    let function = context.client.unit_get(&context.app, &unit_key(UnitKind::Function, args.name.name())?).await?;
    context.ui.show(
        &aliases,
        |aliases| aliases.iter().map(|alias| alias.name.to_string()).collect(),
        |aliases| {
            let mut table = Table::new(["ALIAS", "VERSION", "UID", "LABEL", "MOVED", "BY"], "");
            let dash = |label: Option<&Label>| label.map_or_else(|| "-".to_owned(), ToString::to_string);
            // `latest` is built in and not in the server's list.
            let latest = &function.current;
            table.row([
                "latest".to_owned(),
                latest.number.to_string(),
                latest.uid.clone(),
                dash(latest.label.as_ref()),
                local(latest.created_at),
                latest.created_by.clone(),
            ]);
            for alias in aliases {
                table.row([
                    alias.name.to_string(),
                    alias.number.to_string(),
                    alias.version.clone(),
                    dash(alias.label.as_ref()),
                    local(alias.moved_at),
                    alias.moved_by.clone(),
                ]);
            }
            table.render()
        },
    )
}

use clap::Args;

use crate::args::slots::NameArgs;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// List the versions in a group
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    name: NameArgs,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    let group = context.client.group_get(&context.app, args.name.name()).await?;
    context.ui.show(
        &group,
        |group| vec![group.name.to_string()],
        |group| {
            let mut table = Table::new(["TYPE", "NAME", "NUMBER", "UID"], "The group is empty.");
            for member in &group.members {
                table.row([
                    member.kind.to_string(),
                    member.name.to_string(),
                    member.number.to_string(),
                    member.version.clone(),
                ]);
            }
            table.render()
        },
    )
}

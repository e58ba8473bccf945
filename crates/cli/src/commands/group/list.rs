use clap::Args;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List the groups
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let groups = context.client.group_list(&context.app).await?;
    context.ui.show(
        &groups,
        |groups| groups.iter().map(|group| group.name.to_string()).collect(),
        |groups| {
            let mut table = Table::new(["GROUP", "CREATED", "MEMBERS"], "There are no groups.");
            for group in groups {
                let members: Vec<String> =
                    group.members.iter().map(|member| format!("{}@{}", member.name, member.number)).collect();
                table.row([group.name.to_string(), local(group.created_at), members.join(", ")]);
            }
            table.render()
        },
    )
}

use clap::Args;

use super::show::target;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age};

/// List webhooks
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many
    #[arg(long, default_value_t = 50)]
    limit: i64,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let page = context.client.webhook_list(&context.app, args.limit, args.cursor.as_deref()).await?;
    let empty = format!("App {} has no webhooks.", context.app);
    let now = context.ui.now();
    context.ui.show(
        &page.items,
        |webhooks| webhooks.iter().map(|webhook| webhook.id.clone()).collect(),
        |webhooks| {
            let mut table = Table::new(["ID", "RUNS", "SIGNED", "AGE", "ABOUT"], &empty);
            for webhook in webhooks {
                table.row([
                    webhook.id.clone(),
                    target(webhook),
                    if webhook.signed { "yes" } else { "no" }.to_owned(),
                    age(now, webhook.created_at),
                    webhook.description.clone(),
                ]);
            }
            table.render()
        },
    )?;
    if let Some(next) = &page.next {
        context.ui.say(&format!("There are more: --cursor {next}"));
    }
    Ok(())
}

use clap::Args;

use super::show::target;
use crate::commands::paged::{self, PageArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::age;

/// List webhooks
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let page = context.client.webhook_list(&context.app, args.page.limit, args.page.cursor.as_deref()).await?;
    let now = context.ui.now();
    let headers = ["ID", "RUNS", "SIGNED", "AGE", "ABOUT"];
    paged::show(
        context,
        &page,
        "webhooks",
        headers,
        |webhook| webhook.id.clone(),
        |webhook| {
            [
                webhook.id.clone(),
                target(webhook),
                if webhook.signed { "yes" } else { "no" }.to_owned(),
                age(now, webhook.created_at),
                webhook.description.clone(),
            ]
        },
    )
}

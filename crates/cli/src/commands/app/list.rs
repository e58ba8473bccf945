use clap::Args;

use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, age};

/// List the apps
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = context.client.app_list(1000, cursor.as_deref()).await?;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let now = context.ui.now();
    context.ui.show(
        &found,
        |apps| apps.iter().map(|app| app.name.to_string()).collect(),
        |apps| {
            let mut table = Table::new(["NAME", "PLAN", "HEAD", "LIVE", "AGE"], "There are no apps.");
            for app in apps {
                let head = app.head.clone().unwrap_or_else(|| "-".to_owned());
                table.row([
                    app.name.to_string(),
                    app.plan.to_string(),
                    head,
                    super::get::live_text(&app.live),
                    age(now, app.created_at),
                ]);
            }
            table.render()
        },
    )
}

use clap::Args;
use milepost_model::install::Install;

use crate::context::Context;
use crate::failure::Result;
use crate::output::Table;

/// List the installed apps
#[derive(Debug, Args)]
pub struct ListArgs {}

pub async fn run(context: &Context<'_>, _args: ListArgs) -> Result<()> {
    let mut found: Vec<Install> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = context.client.install_list(1000, cursor.as_deref()).await?;
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    context.ui.show(
        &found,
        |installs| installs.iter().map(|install| install.app.to_string()).collect(),
        |installs| {
            let mut table =
                Table::new(["APP", "PACKAGE", "VERSION", "CHANNEL", "CHECK", "NEXT"], "There are no installed apps.");
            for install in installs {
                let channel = install.channel.as_ref().map_or_else(String::new, ToString::to_string);
                let mode = if install.mode.as_str() == "channel" { channel } else { install.mode.to_string() };
                table.row([
                    install.app.to_string(),
                    install.package.to_string(),
                    install.entry.version.to_string(),
                    mode,
                    install.last_check.as_ref().map_or_else(String::new, |check| check.kind.clone()),
                    install.plan.as_ref().map_or_else(String::new, |plan| plan.forecast.clone()),
                ]);
            }
            table.render()
        },
    )
}

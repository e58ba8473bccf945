use clap::Args;

use crate::commands::app::release_text;
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List releases, newest first
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Include expired releases
    #[arg(long)]
    all: bool,
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: i64,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let live = context.client.live_get(&context.app).await?;
    let page = context.client.release_list(&context.app, !args.all, args.limit, None).await?;
    context.ui.show(
        &page.items,
        |releases| releases.iter().map(|release| release.id.to_string()).collect(),
        |releases| {
            let mut table = Table::new(["RELEASE", "APP VERSION", "CREATED", "BY", "STATE"], "There are no releases.");
            for release in releases {
                let text = release_text(release, live.mode);
                let state = text.split_once(", ").map_or("active", |(_, rest)| rest).to_owned();
                table.row([
                    release.id.clone(),
                    release.app_version.clone(),
                    local(release.created_at),
                    release.created_by.clone(),
                    state,
                ]);
            }
            table.render()
        },
    )
}

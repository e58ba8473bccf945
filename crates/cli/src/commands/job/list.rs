use clap::Args;

use super::show::{schedule, target};
use crate::commands::paged::{self, PageArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::local;

/// List jobs, newest first
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub async fn run(context: &Context<'_>, args: ListArgs) -> Result<()> {
    let page = context.client.job_list(&context.app, args.page.limit, args.page.cursor.as_deref()).await?;
    let headers = ["ID", "NAME", "RUNS", "SCHEDULE", "STATE", "MADE", "LEFT", "NEXT"];
    paged::show(
        context,
        &page,
        "jobs",
        headers,
        |job| job.id.clone(),
        |job| {
            [
                job.id.clone(),
                job.name.clone(),
                target(job),
                schedule(job),
                job.state.to_string(),
                job.fired.to_string(),
                job.count.map(|count| count.to_string()).unwrap_or_default(),
                job.next_at.map(local).unwrap_or_default(),
            ]
        },
    )
}

use clap::Args;

use super::show::{schedule, target};
use crate::context::Context;
use crate::failure::Result;
use crate::output::{Table, local};

/// List jobs, newest first
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
    let page = context.client.job_list(&context.app, args.limit, args.cursor.as_deref()).await?;
    let empty = format!("App {} has no jobs.", context.app);
    context.ui.show(
        &page.items,
        |jobs| jobs.iter().map(|job| job.id.clone()).collect(),
        |jobs| {
            let mut table = Table::new(["ID", "NAME", "RUNS", "SCHEDULE", "STATE", "MADE", "LEFT", "NEXT"], &empty);
            for job in jobs {
                table.row([
                    job.id.clone(),
                    job.name.clone(),
                    target(job),
                    schedule(job),
                    job.state.to_string(),
                    job.fired.to_string(),
                    job.count.map(|count| count.to_string()).unwrap_or_default(),
                    job.next_at.map(local).unwrap_or_default(),
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

use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a job, but not the executions that it started
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// The job: its name, or its id from `job list`
    #[arg(value_name = "JOB")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete job {} of app {}?", args.id, context.app), Unattended::Proceed)?;
    context.client.job_delete(&context.app, &args.id).await?;
    context.ui.say(&format!("Deleted job {}.", args.id));
    Ok(())
}

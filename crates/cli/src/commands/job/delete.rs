use clap::Args;

use crate::context::{Context, Unattended};
use crate::failure::Result;

/// Delete a job; what it has started stays
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Its id, as `job list` has it, or its name
    #[arg(value_name = "JOB")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: DeleteArgs) -> Result<()> {
    context.confirm(&format!("Delete job {} of app {}?", args.id, context.app), Unattended::Proceed)?;
    context.client.job_delete(&context.app, &args.id).await?;
    context.ui.say(&format!("Job {} is deleted.", args.id));
    Ok(())
}

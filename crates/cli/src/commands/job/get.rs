use clap::Args;

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Show a job
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The job: its name, or its id from `job list`
    #[arg(value_name = "JOB")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: GetArgs) -> Result<()> {
    show::one(context, &context.client.job_get(&context.app, &args.id).await?)
}

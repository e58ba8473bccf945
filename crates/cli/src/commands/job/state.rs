use clap::Args;
use milepost_model::job::{JobChange, JobState};

use super::show;
use crate::context::Context;
use crate::failure::Result;

/// Pause, resume or cancel a job
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The job: its name, or its id from `job list`
    #[arg(value_name = "JOB")]
    id: String,
}

pub async fn run(context: &Context<'_>, args: StateArgs, state: JobState) -> Result<()> {
    let change = JobChange { state: Some(state), ..JobChange::default() };
    show::one(context, &context.client.job_update(&context.app, &args.id, &change).await?)
}

mod create;
mod delete;
mod get;
mod list;
mod moment;
mod show;
mod state;

use clap::Subcommand;
use milepost_model::job::JobState;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum JobCommand {
    /// Schedule runs of a function
    Create(create::CreateArgs),
    /// List jobs, newest first
    List(list::ListArgs),
    /// Show a job
    Get(get::GetArgs),
    /// Pause a job
    Pause(state::StateArgs),
    /// Resume a paused job; runs missed in the meantime are not made up
    Resume(state::StateArgs),
    /// End a job permanently
    Cancel(state::StateArgs),
    /// Delete a job, but not the executions that it started
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: JobCommand) -> Result<()> {
    match command {
        JobCommand::Create(args) => create::run(context, args).await,
        JobCommand::List(args) => list::run(context, args).await,
        JobCommand::Get(args) => get::run(context, args).await,
        JobCommand::Pause(args) => state::run(context, args, JobState::Paused).await,
        JobCommand::Resume(args) => state::run(context, args, JobState::Running).await,
        JobCommand::Cancel(args) => state::run(context, args, JobState::Cancelled).await,
        JobCommand::Delete(args) => delete::run(context, args).await,
    }
}

mod cancel;
mod create;
mod delete;
mod get;
mod input;
mod list;
mod logs;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

pub use input::read_input;
pub use show::value;

#[derive(Debug, Subcommand)]
pub enum ExecutionCommand {
    /// Run a function with an input, and wait for its end or not
    Create(create::CreateArgs),
    /// List executions, newest first
    List(list::ListArgs),
    /// Show an execution
    Get(get::GetArgs),
    /// Show what an execution wrote
    #[command(visible_alias = "log")]
    Logs(logs::LogsArgs),
    /// End an execution that is queued or runs
    Cancel(cancel::CancelArgs),
    /// Forget executions that have ended
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: ExecutionCommand) -> Result<()> {
    match command {
        ExecutionCommand::Create(args) => create::run(context, args).await,
        ExecutionCommand::List(args) => list::run(context, args).await,
        ExecutionCommand::Get(args) => get::run(context, args).await,
        ExecutionCommand::Logs(args) => logs::run(context, args).await,
        ExecutionCommand::Cancel(args) => cancel::run(context, args).await,
        ExecutionCommand::Delete(args) => delete::run(context, args).await,
    }
}

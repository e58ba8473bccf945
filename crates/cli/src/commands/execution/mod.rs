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
    Create(create::CreateArgs),
    List(list::ListArgs),
    Get(get::GetArgs),
    Logs(logs::LogsArgs),
    Cancel(cancel::CancelArgs),
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

mod create;
mod delete;
mod get;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum TimerCommand {
    /// Create a timer, or a new version of it
    #[command(visible_alias = "update")]
    Create(create::CreateArgs),
    /// List the timers
    List(list::ListArgs),
    /// Show a timer
    Get(get::GetArgs),
    /// Remove a timer from the app
    Delete(delete::DeleteArgs),
}

pub async fn run(context: &Context<'_>, command: TimerCommand) -> Result<()> {
    match command {
        TimerCommand::Create(args) => create::run(context, args).await,
        TimerCommand::List(args) => list::run(context, args).await,
        TimerCommand::Get(args) => get::run(context, args).await,
        TimerCommand::Delete(args) => delete::run(context, args).await,
    }
}

mod get;
mod list;
mod set;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// List plans and their limits
    List(list::ListArgs),
    /// Show the app's plan
    Get(get::GetArgs),
    /// Change the app's plan
    Set(set::SetArgs),
}

pub async fn run(context: &Context<'_>, command: PlanCommand) -> Result<()> {
    match command {
        PlanCommand::List(args) => list::run(context, args).await,
        PlanCommand::Get(args) => get::run(context, args).await,
        PlanCommand::Set(args) => set::run(context, args).await,
    }
}

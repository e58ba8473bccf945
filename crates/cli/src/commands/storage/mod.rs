mod sweep;
mod why;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum StorageCommand {
    /// Show what references a blob
    Why(why::WhyArgs),
    /// Delete unreferenced data now
    Sweep(sweep::SweepArgs),
}

pub async fn run(context: &Context<'_>, command: StorageCommand) -> Result<()> {
    match command {
        StorageCommand::Why(args) => why::run(context, args).await,
        StorageCommand::Sweep(args) => sweep::run(context, args).await,
    }
}

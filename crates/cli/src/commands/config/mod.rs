mod apply;
mod document;
mod edit;
mod get;
mod set;
mod unset;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the configuration, or one key of it
    Get(get::GetArgs),
    /// Set keys
    Set(set::SetArgs),
    /// Unset keys
    Unset(unset::UnsetArgs),
    /// Edit the configuration in your editor
    Edit(edit::EditArgs),
    /// Replace the configuration by a file
    Apply(apply::ApplyArgs),
}

pub async fn run(context: &Context<'_>, command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Get(args) => get::run(context, args).await,
        ConfigCommand::Set(args) => set::run(context, args).await,
        ConfigCommand::Unset(args) => unset::run(context, args).await,
        ConfigCommand::Edit(args) => edit::run(context, args).await,
        ConfigCommand::Apply(args) => apply::run(context, args).await,
    }
}

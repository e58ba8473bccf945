mod apply;
mod delete;
mod document;
mod edit;
mod get;
mod set;
mod unset;
mod version;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    Get(get::GetArgs),
    Set(set::SetArgs),
    Unset(unset::UnsetArgs),
    Edit(edit::EditArgs),
    Apply(apply::ApplyArgs),
    Delete(delete::DeleteArgs),
    /// Versions of the configuration
    #[command(subcommand)]
    Version(version::VersionCommand),
}

pub async fn run(context: &Context<'_>, command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Get(args) => get::run(context, args).await,
        ConfigCommand::Set(args) => set::run(context, args).await,
        ConfigCommand::Unset(args) => unset::run(context, args).await,
        ConfigCommand::Edit(args) => edit::run(context, args).await,
        ConfigCommand::Apply(args) => apply::run(context, args).await,
        ConfigCommand::Delete(args) => delete::run(context, args).await,
        ConfigCommand::Version(command) => version::run(context, command).await,
    }
}

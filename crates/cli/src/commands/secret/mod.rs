mod delete;
mod list;
mod set;

use clap::Subcommand;
use milepost_model::UnitKind;

use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Set a secret
    Set(set::SetArgs),
    /// List secrets, without their values
    List(list::ListArgs),
    /// Remove a secret from the app
    Delete(delete::DeleteArgs),
    /// List, show and describe versions of a secret, without their values
    #[command(subcommand)]
    Version(version::ReadCommand),
}

pub async fn run(context: &Context<'_>, command: SecretCommand) -> Result<()> {
    match command {
        SecretCommand::Set(args) => set::run(context, args).await,
        SecretCommand::List(args) => list::run(context, args).await,
        SecretCommand::Delete(args) => delete::run(context, args).await,
        SecretCommand::Version(command) => version::read(context, UnitKind::Secret, command).await,
    }
}

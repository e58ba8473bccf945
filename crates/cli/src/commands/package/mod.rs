mod delete;
mod get;
mod list;
mod put;
mod version_create;
mod version_update;

use clap::Subcommand;
use milepost_model::UnitKind;

use super::version;
use crate::context::Context;
use crate::failure::Result;

const KIND: UnitKind = UnitKind::Package;

#[derive(Debug, Subcommand)]
pub enum PackageCommand {
    /// List the packages
    List(list::ListArgs),
    /// Show a package
    Get(get::GetArgs),
    /// Remove a package from the app
    Delete(delete::DeleteArgs),
    /// Versions of a package
    #[command(subcommand)]
    Version(VersionCommand),
}

#[derive(Debug, Subcommand)]
pub enum VersionCommand {
    /// Create a version, and the package with it if it is new
    Create(version_create::CreateArgs),
    /// Create a version from the newest one and what is given
    Update(version_update::UpdateArgs),
    #[command(flatten)]
    Other(version::CodeCommand),
}

pub async fn run(context: &Context<'_>, command: PackageCommand) -> Result<()> {
    match command {
        PackageCommand::List(args) => list::run(context, args).await,
        PackageCommand::Get(args) => get::run(context, args).await,
        PackageCommand::Delete(args) => delete::run(context, args).await,
        PackageCommand::Version(VersionCommand::Create(args)) => version_create::run(context, args).await,
        PackageCommand::Version(VersionCommand::Update(args)) => version_update::run(context, args).await,
        PackageCommand::Version(VersionCommand::Other(command)) => version::run(context, KIND, command).await,
    }
}

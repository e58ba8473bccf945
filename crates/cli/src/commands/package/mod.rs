mod create;
mod delete;
mod get;
mod list;
mod put;
mod version_create;
mod version_update;

use clap::Subcommand;
use milepost_model::UnitKind;

use super::version;
use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

const KIND: UnitKind = UnitKind::Package;

#[derive(Debug, Subcommand)]
pub enum PackageCommand {
    /// List packages
    List(list::ListArgs),
    /// Show a package
    #[command(visible_alias = "info")]
    Get(get::GetArgs),
    /// Create a package
    Create(create::CreateArgs),
    /// Create a new version of a package, changing only what is given
    Update(version_update::UpdateArgs),
    /// Remove a package from the app
    Delete(delete::DeleteArgs),
    /// Manage versions of a package
    #[command(subcommand)]
    Version(VersionCommand),
}

#[derive(Debug, Subcommand)]
pub enum VersionCommand {
    /// Create a version, and the package if it does not exist
    Create(version_create::CreateArgs),
    /// Create a new version, changing only what is given
    Update(version_update::UpdateArgs),
    #[command(flatten)]
    Other(version::CodeCommand),
}

pub async fn run(ui: &Ui, global: &Global, command: PackageCommand) -> Result<()> {
    if let PackageCommand::Create(args) = &command
        && args.spec.is_asked()
    {
        return create::write(ui, args).await;
    }
    let context = &Context::new(ui, global)?;
    match command {
        PackageCommand::List(args) => list::run(context, args).await,
        PackageCommand::Get(args) => get::run(context, args).await,
        PackageCommand::Create(args) => create::run(context, args).await,
        PackageCommand::Update(args) => version_update::run(context, args).await,
        PackageCommand::Delete(args) => delete::run(context, args).await,
        PackageCommand::Version(VersionCommand::Create(args)) => version_create::run(context, args).await,
        PackageCommand::Version(VersionCommand::Update(args)) => version_update::run(context, args).await,
        PackageCommand::Version(VersionCommand::Other(command)) => version::run(context, KIND, command).await,
    }
}

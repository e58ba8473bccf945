mod create;
mod delete;
mod fission;
mod get;
mod list;
mod put;
mod test;
mod version_create;
mod version_update;

use clap::Subcommand;
use milepost_model::UnitKind;

use super::alias::AliasCommand;
use super::version;
use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

const KIND: UnitKind = UnitKind::Function;

#[derive(Debug, Subcommand)]
pub enum FunctionCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Create(create::CreateArgs),
    Update(version_update::UpdateArgs),
    Test(test::TestArgs),
    Delete(delete::DeleteArgs),
    /// Versions of a function
    #[command(subcommand)]
    Version(VersionCommand),
    /// Aliases of a function
    #[command(subcommand)]
    Alias(AliasCommand),
}

#[derive(Debug, Subcommand)]
pub enum VersionCommand {
    Create(version_create::CreateArgs),
    Update(version_update::UpdateArgs),
    #[command(flatten)]
    Other(version::CodeCommand),
}

pub async fn run(ui: &Ui, global: &Global, command: FunctionCommand) -> Result<()> {
    if let FunctionCommand::Create(args) = &command
        && args.spec.is_asked()
    {
        return create::write(ui, args).await;
    }
    let context = &Context::new(ui, global)?;
    match command {
        FunctionCommand::List(args) => list::run(context, args).await,
        FunctionCommand::Get(args) => get::run(context, args).await,
        FunctionCommand::Create(args) => create::run(context, args).await,
        FunctionCommand::Update(args) => version_update::run(context, args).await,
        FunctionCommand::Test(args) => test::run(context, args).await,
        FunctionCommand::Delete(args) => delete::run(context, args).await,
        FunctionCommand::Alias(command) => super::alias::run(context, command).await,
        FunctionCommand::Version(VersionCommand::Create(args)) => version_create::run(context, args).await,
        FunctionCommand::Version(VersionCommand::Update(args)) => version_update::run(context, args).await,
        FunctionCommand::Version(VersionCommand::Other(command)) => version::run(context, KIND, command).await,
    }
}

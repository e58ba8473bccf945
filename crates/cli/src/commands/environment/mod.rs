mod create;
mod delete;
mod get;
mod list;

use clap::Subcommand;
use milepost_model::UnitKind;
use milepost_model::unit_put::PutOnly;

use crate::args::Global;
use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

#[derive(Debug, Subcommand)]
pub enum EnvironmentCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Create(create::CreateArgs),
    Update(create::UpdateArgs),
    Delete(delete::DeleteArgs),
    /// Versions of an environment
    #[command(subcommand)]
    Version(version::ReadCommand),
}

pub async fn run(ui: &Ui, global: &Global, command: EnvironmentCommand) -> Result<()> {
    if let EnvironmentCommand::Create(args) = &command
        && args.spec.is_asked()
    {
        return create::write(ui, args);
    }
    let context = &Context::new(ui, global)?;
    match command {
        EnvironmentCommand::List(args) => list::run(context, args).await,
        EnvironmentCommand::Get(args) => get::run(context, args).await,
        EnvironmentCommand::Create(args) => create::run(context, args.environment, PutOnly::New).await,
        EnvironmentCommand::Update(args) => create::run(context, args.environment, PutOnly::Existing).await,
        EnvironmentCommand::Delete(args) => delete::run(context, args).await,
        EnvironmentCommand::Version(command) => version::read(context, UnitKind::Environment, command).await,
    }
}

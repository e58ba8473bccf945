mod create;
mod delete;
mod get;
mod list;
mod live;

use clap::Subcommand;
use milepost_model::UnitKind;
use milepost_model::unit_put::PutOnly;

use crate::args::Global;
use crate::commands::version;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

#[derive(Debug, Subcommand)]
pub enum TimerCommand {
    /// Create a timer
    Create(create::CreateArgs),
    /// Replace a timer with a new version
    Update(create::UpdateArgs),
    /// List timers and their next runs
    List(list::ListArgs),
    /// Show a timer and its next run
    Get(get::GetArgs),
    /// Remove a timer from the app
    Delete(delete::DeleteArgs),
    /// List, show and describe versions of a timer
    #[command(subcommand)]
    Version(version::ReadCommand),
}

pub async fn run(ui: &Ui, global: &Global, command: TimerCommand) -> Result<()> {
    if let TimerCommand::Create(args) = &command
        && args.spec.is_asked()
    {
        return create::write(ui, args);
    }
    let context = &Context::new(ui, global)?;
    match command {
        TimerCommand::Create(args) => create::run(context, args.timer, PutOnly::New).await,
        TimerCommand::Update(args) => create::run(context, args.timer, PutOnly::Existing).await,
        TimerCommand::List(args) => list::run(context, args).await,
        TimerCommand::Get(args) => get::run(context, args).await,
        TimerCommand::Delete(args) => delete::run(context, args).await,
        TimerCommand::Version(command) => version::read(context, UnitKind::Timer, command).await,
    }
}

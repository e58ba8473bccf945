//! Installing apps from channels, and what is decided about them.

mod bundle;
mod create;
mod detach;
mod hold;
mod inputs;
mod lift;
mod list;
mod policy;
mod reference;
mod settings;
mod show;
mod status;
mod which;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

pub use bundle::open_bundle;
pub use inputs::{SecretArgs, ask_for};
pub use show::installed as show_installed;
pub use which::which;

/// Install an app from a channel, pinned or followed
///
/// `milepost install NAME:1.2.3` installs one version and never looks for another. `milepost install --channel URL` installs
/// the latest of a channel and follows it: patches come by themselves, everything else when you say so, unless a policy
/// says otherwise. The app has versions and releases like any other, and a rollback stays.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InstallArgs {
    #[command(subcommand)]
    command: Option<InstallCommand>,
    #[command(flatten)]
    create: create::CreateArgs,
}

#[derive(Debug, Subcommand)]
pub enum InstallCommand {
    /// Show how an installed app stands, and what happens next
    Status(status::StatusArgs),
    /// List the apps that were installed
    List(list::ListArgs),
    /// Change when upgrades come, and other settings
    Policy(Box<policy::PolicyArgs>),
    /// Hold upgrades
    Hold(hold::HoldArgs),
    /// Lift a hold, and the versions that are skipped
    Lift(lift::LiftArgs),
    /// Keep the app as it is, and let go of its channel
    Detach(detach::DetachArgs),
}

pub async fn run(ui: &Ui, global: &Global, args: InstallArgs) -> Result<()> {
    let context = Context::new(ui, global)?;
    let app = global.app.as_deref();
    match args.command {
        None => create::run(&context, app, args.create).await,
        Some(InstallCommand::Status(args)) => status::run(&context, app, args).await,
        Some(InstallCommand::List(args)) => list::run(&context, args).await,
        Some(InstallCommand::Policy(args)) => policy::run(&context, app, *args).await,
        Some(InstallCommand::Hold(args)) => hold::run(&context, app, args).await,
        Some(InstallCommand::Lift(args)) => lift::run(&context, app, args).await,
        Some(InstallCommand::Detach(args)) => detach::run(&context, app, args).await,
    }
}

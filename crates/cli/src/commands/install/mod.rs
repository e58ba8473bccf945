//! `milepost install`: installs apps from channels, and manages their upgrades.

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

/// Install an app from a channel, and manage its upgrades
///
/// `milepost install NAME:1.2.3` installs one version and never upgrades it. `milepost install
/// --channel URL` installs the latest version of a channel and follows it: patches are installed
/// automatically, minor and major versions when you run `milepost upgrade`. Change this with
/// `--policy`. An installed app has versions and releases like any other app. After a rollback,
/// upgrades are held.
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
    /// Show the state of an installed app and its next upgrade
    #[command(visible_alias = "get")]
    Status(status::StatusArgs),
    /// List the installed apps
    List(list::ListArgs),
    /// Change when upgrades are installed, and other settings
    Policy(Box<policy::PolicyArgs>),
    /// Hold upgrades
    Hold(hold::HoldArgs),
    /// Lift a hold and allow skipped versions again
    Lift(lift::LiftArgs),
    /// Stop following the channel and keep the app
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

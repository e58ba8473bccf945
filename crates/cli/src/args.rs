//! The command line as a whole: global options and the nouns.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands;

/// A self-hosted platform for functions and apps in which nothing that ran is ever changed and every name is a pointer
/// that can be moved back
///
/// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped with Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line, or ends the program with what is wrong with it.
    pub fn read(args: Vec<OsString>) -> Self {
        let mut matches = Self::command().get_matches_from(args);
        let from_environment = matches.value_source("app") == Some(ValueSource::EnvVariable);
        let mut cli =
            Self::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut Self::command()).exit());
        cli.global.app_is_from_environment = from_environment;
        cli
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Address of the server; found by itself when it runs on this machine
    #[arg(long, global = true, env = "MILEPOST_SERVER", value_name = "URL", hide_env_values = true)]
    pub server: Option<String>,
    /// Token for the server; the admin token of this machine's server when left out
    #[arg(long, global = true, env = "MILEPOST_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The app that the command is about [default: the one of milepost.yaml in this folder, or `default`]
    #[arg(long, global = true, env = "MILEPOST_APP", hide_env_values = true, value_name = "APP")]
    pub app: Option<String>,
    /// Whether the app was named by `MILEPOST_APP` and not by `--app`.
    #[arg(skip)]
    pub app_is_from_environment: bool,
    /// The server's data folder
    #[arg(long, global = true, env = "MILEPOST_DATA", value_name = "DIR", hide_env_values = true)]
    pub data: Option<PathBuf>,
    /// How data is printed; `name` gives the bare names that commands take back, one a line
    #[arg(short, long, global = true, value_enum, default_value = "table")]
    pub output: Format,
    /// Do not ask before anything destructive
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Print data and errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Json,
    Yaml,
    Name,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Deploy a folder and follow it, with a server of its own if none runs
    Up(Box<commands::up::UpArgs>),
    /// Write a milepost.yaml to start from
    Init(commands::init::InitArgs),
    /// Deploy the app that milepost.yaml describes
    Deploy(commands::deploy::DeployArgs),
    /// Apply, check and remove folders of specs
    #[command(subcommand)]
    Spec(commands::spec::SpecCommand),
    /// Turn a folder of specs into one milepost.yaml
    Import(commands::import::ImportArgs),
    /// Write the app as a folder with a milepost.yaml
    Export(commands::export::ExportArgs),
    /// Builds of packages, and what they wrote
    #[command(subcommand)]
    Build(commands::build::BuildCommand),
    /// Show what is live, and what runs
    Status(commands::status::StatusArgs),
    /// Show what functions wrote
    Logs(commands::logs::LogsArgs),
    /// Open the app in the browser
    Open(commands::open::OpenArgs),
    /// Find out what keeps apps from running here, and how to mend it
    Doctor(commands::doctor::DoctorArgs),
    /// Run the server
    Serve(crate::serve::ServeArgs),
    /// Apps, their versions and their history
    #[command(subcommand)]
    App(commands::app::AppCommand),
    /// Compare two app versions or releases, field by field and file by file
    Diff(commands::diff::DiffArgs),
    /// Put live back to what it was before
    Rollback(commands::rollback::RollbackArgs),
    /// Releases, tags and live
    #[command(subcommand)]
    Release(commands::release::ReleaseCommand),
    /// Functions, their versions and aliases
    #[command(subcommand, visible_alias = "fn")]
    Function(Box<commands::function::FunctionCommand>),
    /// Packages and their versions
    #[command(subcommand, visible_alias = "pkg")]
    Package(commands::package::PackageCommand),
    /// Environments that functions run in
    #[command(subcommand, visible_alias = "env")]
    Environment(commands::environment::EnvironmentCommand),
    /// The app's configuration, one document
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// Secrets
    #[command(subcommand)]
    Secret(commands::secret::SecretCommand),
    /// Static files
    #[command(subcommand)]
    Static(commands::static_item::StaticCommand),
    /// HTTP routes to functions
    #[command(subcommand)]
    Route(commands::route::RouteCommand),
    /// Routes as Fission makes them
    #[command(subcommand, visible_alias = "ht")]
    Httptrigger(commands::httptrigger::HttptriggerCommand),
    /// Timers that start functions
    #[command(subcommand)]
    Timer(commands::timer::TimerCommand),
    /// Runs of functions on record, waited for or queued
    #[command(subcommand, visible_alias = "exec")]
    Execution(commands::execution::ExecutionCommand),
    /// Functions that are run at times, with an input
    #[command(subcommand)]
    Job(commands::job::JobCommand),
    /// Addresses that start functions when they are called
    #[command(subcommand)]
    Webhook(commands::webhook::WebhookCommand),
    /// Publish the app under a version, for other servers to install
    Publish(Box<commands::publish::PublishArgs>),
    /// Take a published version back
    Unpublish(commands::unpublish::UnpublishArgs),
    /// Keys, versions and places of your channels
    #[command(subcommand)]
    Channel(commands::channel::ChannelCommand),
    /// Install an app from a channel, pinned or followed
    Install(Box<commands::install::InstallArgs>),
    /// Upgrade an installed app, or show what comes when
    Upgrade(commands::upgrade::UpgradeArgs),
    /// Write a channel into one file, for machines without a network
    Bundle(commands::bundle::BundleArgs),
    /// Groups of versions
    #[command(subcommand)]
    Group(commands::group::GroupCommand),
    /// Tokens for the API
    #[command(subcommand)]
    Token(commands::token::TokenCommand),
    /// Plans and their limits
    #[command(subcommand)]
    Plan(commands::plan::PlanCommand),
    /// Show whose token is used, and for which server
    Whoami(commands::whoami::WhoamiArgs),
    /// What is stored, and why
    #[command(subcommand)]
    Storage(commands::storage::StorageCommand),
    /// Print a completion script for a shell
    Completion(commands::completion::CompletionArgs),
    /// Write the generated reference
    #[command(hide = true)]
    Reference(commands::reference::ReferenceArgs),
}

/// Text that went through a word processor has long dashes where two short ones were typed; seed 002 has one. An
/// argument that begins with one is an option.
pub fn mend_dashes(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    args.into_iter()
        .map(|arg| match arg.to_str() {
            Some(text) if text.starts_with(['—', '–']) => {
                format!("--{}", text.trim_start_matches(['—', '–', '-'])).into()
            }
            _ => arg,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn long_dashes_are_read_as_options() {
        let mended = mend_dashes(["—-tag", "—name", "–x", "-", "plain"].map(OsString::from));
        assert_eq!(mended, ["--tag", "--name", "--x", "-", "plain"]);
    }
}

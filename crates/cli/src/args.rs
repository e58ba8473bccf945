//! The root of the command line: global options and the top-level commands.
//!
//! A command that is a struct takes its help from that struct. A doc comment on the variant would
//! replace it, including the long text of `--help`.

mod examples;
mod mistyped;
pub mod plain;
pub mod screen;
pub mod slots;
pub mod tree;
pub mod walk;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use milepost_model::AppName;

use crate::commands;
use crate::failure::Result;

/// Deploy functions and apps on your own server
///
/// Every release is kept, and any deploy can be undone.
///
/// Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted with Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The command line with all that the definitions of single commands do not say.
    pub fn definition() -> clap::Command {
        screen::add(tree::dress(Self::command(), "milepost"))
    }

    /// Parses the command line. Prints the error and exits the process if it is invalid.
    pub fn read(args: &[OsString]) -> Self {
        let mut root = Self::definition();
        let parsed = root.try_get_matches_from_mut(args);
        let mut matches = parsed.unwrap_or_else(|error| mistyped::exit(error, &mut root, args));
        let from_environment = matches.value_source("app") == Some(ValueSource::EnvVariable);
        let mut cli = Self::from_arg_matches_mut(&mut matches)
            .unwrap_or_else(|error| mistyped::report(mistyped::located(error, &mut root, args), &root, args));
        cli.global.app_is_from_environment = from_environment;
        cli
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Server address; a server running on this machine is found automatically
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "MILEPOST_SERVER",
        value_name = "URL",
        hide_env_values = true
    )]
    pub server: Option<String>,
    /// API token; required with `--server`, otherwise this machine's admin token
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "MILEPOST_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
    /// App to work on [default: the app in ./milepost.yaml, or `default`]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "MILEPOST_APP",
        hide_env_values = true,
        value_name = "APP"
    )]
    pub app: Option<String>,
    /// True if `app` comes from `MILEPOST_APP`, not from `--app`.
    #[arg(skip)]
    pub app_is_from_environment: bool,
    /// Data folder of the server on this machine
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "MILEPOST_DATA",
        value_name = "DIR",
        hide_env_values = true
    )]
    pub data: Option<PathBuf>,
    /// Output format; `name` prints one bare name per line, for use in scripts
    #[arg(short, long, global = true, hide_short_help = true, value_enum, default_value = "table")]
    pub output: Format,
    /// Skip confirmation prompts
    #[arg(short, long, global = true, hide_short_help = true)]
    pub yes: bool,
    /// Print only data, warnings and errors
    #[arg(short, long, global = true, hide_short_help = true)]
    pub quiet: bool,
}

impl Global {
    /// The app given with `--app`. The variable is only for commands that work on an existing app.
    pub fn named_app(&self) -> Result<Option<AppName>> {
        let named = self.app.as_deref().filter(|_| !self.app_is_from_environment);
        Ok(named.map(str::parse).transpose()?)
    }
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
    Up(Box<commands::up::UpArgs>),
    Init(commands::init::InitArgs),
    Deploy(commands::deploy::DeployArgs),
    /// Apply, validate and remove folders of Fission specs
    #[command(subcommand)]
    Spec(commands::spec::SpecCommand),
    Import(commands::import::ImportArgs),
    Export(commands::export::ExportArgs),
    /// Package builds and their logs
    #[command(subcommand)]
    Build(commands::build::BuildCommand),
    Status(commands::status::StatusArgs),
    Logs(commands::logs::LogsArgs),
    Open(commands::open::OpenArgs),
    Doctor(commands::doctor::DoctorArgs),
    Serve(crate::serve::ServeArgs),
    /// Apps, their versions and history
    #[command(subcommand)]
    App(commands::app::AppCommand),
    Diff(commands::diff::DiffArgs),
    Rollback(commands::rollback::RollbackArgs),
    /// Releases, their tags and which one is live
    #[command(subcommand)]
    Release(commands::release::ReleaseCommand),
    /// Functions, their versions and aliases
    #[command(subcommand, visible_alias = "fn")]
    Function(Box<commands::function::FunctionCommand>),
    /// Packages and their versions
    #[command(subcommand, visible_alias = "pkg")]
    Package(commands::package::PackageCommand),
    /// Environments that run functions
    #[command(subcommand, visible_alias = "env")]
    Environment(commands::environment::EnvironmentCommand),
    /// The app's configuration
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// The app's secrets
    #[command(subcommand)]
    Secret(commands::secret::SecretCommand),
    /// Static files
    #[command(subcommand)]
    Static(commands::static_item::StaticCommand),
    /// HTTP routes to functions
    #[command(subcommand)]
    Route(commands::route::RouteCommand),
    /// HTTP routes with Fission's options and behaviour
    #[command(subcommand, visible_alias = "ht")]
    Httptrigger(commands::httptrigger::HttptriggerCommand),
    /// Timers that call functions on a schedule
    #[command(subcommand, visible_aliases = ["timetrigger", "tt"])]
    Timer(commands::timer::TimerCommand),
    /// Run functions and inspect past runs
    #[command(subcommand, visible_alias = "exec")]
    Execution(commands::execution::ExecutionCommand),
    /// Scheduled runs of a function with a fixed input
    #[command(subcommand)]
    Job(commands::job::JobCommand),
    /// Webhooks: URLs that run a function when called
    #[command(subcommand)]
    Webhook(commands::webhook::WebhookCommand),
    Publish(Box<commands::publish::PublishArgs>),
    Unpublish(commands::unpublish::UnpublishArgs),
    /// Channels you publish to: signing keys and versions
    #[command(subcommand)]
    Channel(commands::channel::ChannelCommand),
    Install(Box<commands::install::InstallArgs>),
    Upgrade(commands::upgrade::UpgradeArgs),
    Bundle(commands::bundle::BundleArgs),
    /// Named groups of unit versions
    #[command(subcommand)]
    Group(commands::group::GroupCommand),
    /// API tokens
    #[command(subcommand)]
    Token(commands::token::TokenCommand),
    /// Plans and their limits
    #[command(subcommand)]
    Plan(commands::plan::PlanCommand),
    Whoami(commands::whoami::WhoamiArgs),
    /// Stored content: why it is kept, and sweeping
    #[command(subcommand)]
    Storage(commands::storage::StorageCommand),
    Completion(commands::completion::CompletionArgs),
    #[command(hide = true)]
    Reference(commands::reference::ReferenceArgs),
}

/// Replaces a leading en or em dash with `--`. Word processors turn `--` into such a dash, and
/// commands pasted from documents carry it (seed 002 has one).
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
    fn command_definition_passes_claps_debug_asserts() {
        Cli::definition().debug_assert();
    }

    #[test]
    fn reads_long_dashes_as_option_prefixes() {
        let args = mend_dashes(["—-tag", "—name", "–x", "-", "plain"].map(OsString::from));
        assert_eq!(args, ["--tag", "--name", "--x", "-", "plain"]);
    }
}

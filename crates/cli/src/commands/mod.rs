//! The commands: a directory for each noun, a file for each verb.

mod alias;
pub mod app;
pub mod build;
pub mod bundle;
pub mod channel;
pub mod checked;
pub mod completion;
pub mod config;
pub mod deploy;
pub mod diff;
pub mod doctor;
pub mod environment;
pub mod execution;
pub mod export;
pub mod function;
pub mod group;
pub mod httptrigger;
pub mod import;
pub mod init;
pub mod install;
pub mod job;
pub mod logs;
pub mod open;
pub mod package;
mod paged;
pub mod plan;
pub mod publish;
pub mod reference;
pub mod release;
pub mod rollback;
pub mod route;
pub mod secret;
pub mod shared;
pub mod spec;
mod spec_file;
pub mod static_item;
pub mod status;
pub mod storage;
pub mod timer;
pub mod token;
pub mod unpublish;
pub mod up;
pub mod upgrade;
mod version;
pub mod webhook;
pub mod whoami;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

pub async fn run(ui: &Ui, cli: Cli) -> Result<()> {
    let context = || Context::new(ui, &cli.global);
    match cli.command {
        Command::Serve(args) => crate::serve::run(ui, &cli.global, args).await,
        Command::Up(args) => up::run(ui, &cli.global, *args).await,
        Command::Init(args) => init::run(ui, &args, cli.global.named_app()?.as_ref()),
        Command::Deploy(args) => deploy::run(ui, &cli.global, args).await,
        Command::Spec(command) => spec::run(ui, &cli.global, command).await,
        Command::Import(args) => import::run(ui, &cli.global, args, cli.global.named_app()?).await,
        Command::Export(args) => export::run(&context()?, args).await,
        Command::Build(command) => build::run(&context()?, command).await,
        Command::Status(args) => status::run(&context()?, args).await,
        Command::Logs(args) => logs::run(&context()?, args).await,
        Command::Open(args) => open::run(&context()?, args).await,
        Command::Doctor(args) => doctor::run(ui, &cli.global, args).await,
        Command::Completion(args) => completion::run(&args),
        Command::Reference(args) => reference::run(ui, &args),
        Command::App(command) => app::run(&context()?, command).await,
        Command::Diff(args) => diff::run(&context()?, args).await,
        Command::Rollback(args) => rollback::run(&context()?, args).await,
        Command::Release(command) => release::run(&context()?, command).await,
        Command::Function(command) => function::run(ui, &cli.global, *command).await,
        Command::Package(command) => package::run(ui, &cli.global, command).await,
        Command::Environment(command) => environment::run(ui, &cli.global, command).await,
        Command::Config(command) => config::run(&context()?, command).await,
        Command::Secret(command) => secret::run(&context()?, command).await,
        Command::Static(command) => static_item::run(&context()?, command).await,
        Command::Route(command) => route::run(ui, &cli.global, command).await,
        Command::Httptrigger(command) => httptrigger::run(ui, &cli.global, command).await,
        Command::Timer(command) => timer::run(ui, &cli.global, command).await,
        Command::Execution(command) => execution::run(&context()?, command).await,
        Command::Job(command) => job::run(&context()?, command).await,
        Command::Webhook(command) => webhook::run(&context()?, command).await,
        Command::Publish(args) => publish::run(ui, &cli.global, *args).await,
        Command::Unpublish(args) => unpublish::run(&context()?, args).await,
        Command::Channel(command) => channel::run(ui, &cli.global, command).await,
        Command::Bundle(args) => bundle::run(ui, &cli.global, args).await,
        Command::Group(command) => group::run(&context()?, command).await,
        Command::Token(command) => token::run(&context()?, command).await,
        Command::Plan(command) => plan::run(&context()?, command).await,
        Command::Install(args) => install::run(ui, &cli.global, *args).await,
        Command::Upgrade(args) => upgrade::run(ui, &cli.global, args).await,
        Command::Whoami(args) => whoami::run(&context()?, args).await,
        Command::Storage(command) => storage::run(&context()?, command).await,
    }
}

//! One file per verb, one folder per noun.

mod alias;
pub mod app;
pub mod completion;
pub mod config;
pub mod diff;
pub mod environment;
pub mod function;
pub mod group;
pub mod package;
pub mod plan;
pub mod reference;
pub mod release;
pub mod rollback;
pub mod route;
pub mod secret;
mod shared;
pub mod static_item;
pub mod storage;
pub mod timer;
pub mod token;
mod version;
pub mod whoami;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::failure::Result;
use crate::output::Ui;

pub async fn run(ui: &Ui, cli: Cli) -> Result<()> {
    let context = || Context::new(ui, &cli.global);
    match cli.command {
        Command::Serve(args) => crate::serve::run(ui, &cli.global, args).await,
        Command::Completion(args) => completion::run(&args),
        Command::Reference(args) => reference::run(ui, &args),
        Command::App(command) => app::run(&context()?, command).await,
        Command::Diff(args) => diff::run(&context()?, args).await,
        Command::Rollback(args) => rollback::run(&context()?, args).await,
        Command::Release(command) => release::run(&context()?, command).await,
        Command::Function(command) => function::run(&context()?, *command).await,
        Command::Package(command) => package::run(&context()?, command).await,
        Command::Environment(command) => environment::run(&context()?, command).await,
        Command::Config(command) => config::run(&context()?, command).await,
        Command::Secret(command) => secret::run(&context()?, command).await,
        Command::Static(command) => static_item::run(&context()?, command).await,
        Command::Route(command) => route::run(&context()?, command).await,
        Command::Timer(command) => timer::run(&context()?, command).await,
        Command::Group(command) => group::run(&context()?, command).await,
        Command::Token(command) => token::run(&context()?, command).await,
        Command::Plan(command) => plan::run(&context()?, command).await,
        Command::Whoami(args) => whoami::run(&context()?, args).await,
        Command::Storage(command) => storage::run(&context()?, command).await,
    }
}

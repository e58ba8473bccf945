mod get;
mod list;
mod log;

use clap::Subcommand;
use milepost_model::build::{Build, BuildState};

use crate::context::Context;
use crate::failure::Result;

#[derive(Debug, Subcommand)]
pub enum BuildCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Log(log::LogArgs),
}

pub async fn run(context: &Context<'_>, command: BuildCommand) -> Result<()> {
    match command {
        BuildCommand::List(args) => list::run(context, args).await,
        BuildCommand::Get(args) => get::run(context, args).await,
        BuildCommand::Log(args) => log::run(context, args).await,
    }
}

fn state(build: &Build) -> &'static str {
    match build.state {
        BuildState::Succeeded => "succeeded",
        BuildState::Failed => "failed",
    }
}

/// `850 ms`, `12.4 s`
fn length(build: &Build) -> String {
    match build.duration_ms {
        short @ ..1000 => format!("{short} ms"),
        long => format!("{:.1} s", long as f64 / 1000.0),
    }
}

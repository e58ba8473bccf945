//! Commands on versions: read commands for every kind of unit, more for functions and packages.

pub mod delete;
pub mod describe;
pub mod download;
pub mod get;
pub mod list;

use clap::Subcommand;
use milepost_model::UnitKind;

use crate::args::slots::VersionArgs;
use crate::context::Context;
use crate::failure::Result;

/// Commands for every kind of unit.
#[derive(Debug, Subcommand)]
pub enum ReadCommand {
    /// List versions, newest first
    List(list::ListArgs),
    /// Show a version
    Get(VersionArgs),
    /// Edit the description of a version
    Describe(describe::DescribeArgs),
}

/// Commands for units that consist of files: functions and packages.
#[derive(Debug, Subcommand)]
pub enum CodeCommand {
    #[command(flatten)]
    Read(ReadCommand),
    /// Download the files of a version as a zip
    Download(download::DownloadArgs),
    /// Delete a version, or all versions
    Delete(delete::DeleteArgs),
}

pub async fn read(context: &Context<'_>, kind: UnitKind, command: ReadCommand) -> Result<()> {
    match command {
        ReadCommand::List(args) => list::run(context, kind, args).await,
        ReadCommand::Get(args) => get::run(context, kind, args).await,
        ReadCommand::Describe(args) => describe::run(context, kind, args).await,
    }
}

pub async fn run(context: &Context<'_>, kind: UnitKind, command: CodeCommand) -> Result<()> {
    match command {
        CodeCommand::Read(command) => read(context, kind, command).await,
        CodeCommand::Download(args) => download::run(context, kind, args).await,
        CodeCommand::Delete(args) => delete::run(context, kind, args).await,
    }
}

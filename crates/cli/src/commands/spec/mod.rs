//! `milepost spec`: folders of `fission.io/v1` documents.

mod apply;
mod destroy;
mod init;
mod list;
mod owned;
mod validate;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::failure::Result;
use crate::output::Ui;

#[derive(Debug, Subcommand)]
pub enum SpecCommand {
    /// Create a folder for specs
    Init(init::InitArgs),
    /// Apply, check, list and remove what a folder of specs declares
    #[command(subcommand)]
    Version(FolderCommand),
    // The same verbs without the noun, as in Fission.
    #[command(flatten)]
    Folder(FolderCommand),
}

#[derive(Debug, Subcommand)]
pub enum FolderCommand {
    /// Apply a folder of specs
    Apply(apply::ApplyArgs),
    /// Check a folder of specs for mistakes
    Validate(validate::ValidateArgs),
    /// List the units that a folder of specs created
    List(list::ListArgs),
    /// Remove the units that a folder of specs created
    #[command(visible_alias = "delete")]
    Destroy(destroy::DestroyArgs),
}

#[derive(Debug, Clone, Args)]
pub struct FolderArgs {
    /// The folder with the specs
    #[arg(long, value_name = "DIR", default_value = "specs")]
    pub specdir: PathBuf,
}

pub async fn run(ui: &Ui, global: &Global, command: SpecCommand) -> Result<()> {
    match command {
        SpecCommand::Init(args) => init::run(ui, &args),
        SpecCommand::Version(command) | SpecCommand::Folder(command) => match command {
            FolderCommand::Apply(args) => apply::run(ui, global, args).await,
            FolderCommand::Validate(args) => validate::run(ui, global, &args).await,
            FolderCommand::List(args) => list::run(ui, global, &args).await,
            FolderCommand::Destroy(args) => destroy::run(ui, global, args).await,
        },
    }
}

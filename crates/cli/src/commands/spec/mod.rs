//! Folders of `fission.io/v1` documents, as seed 003 has them.

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
    /// Start a folder of specs
    Init(init::InitArgs),
    /// Apply, check, list and remove what a folder of specs declares
    #[command(subcommand)]
    Version(FolderCommand),
    // The same verbs without the noun, as Fission has them.
    #[command(flatten)]
    Folder(FolderCommand),
}

#[derive(Debug, Subcommand)]
pub enum FolderCommand {
    /// Apply a folder of specs
    Apply(apply::ApplyArgs),
    /// Find the mistakes of a folder of specs
    Validate(validate::ValidateArgs),
    /// List what a folder of specs made
    List(list::ListArgs),
    /// Remove all that a folder of specs made
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

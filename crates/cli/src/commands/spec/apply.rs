use clap::Args;
use milepost_declared::apply::HandEdits;
use milepost_declared::fission;

use super::FolderArgs;
use crate::args::Global;
use crate::commands::deploy::{DeclareArgs, apply_declared};
use crate::commands::shared::ChangeArgs;
use crate::failure::Result;
use crate::output::Ui;

/// Apply a folder of specs
///
/// All documents of all `.yaml` and `.yml` files form one change: a new version of each unit that
/// differs, all with the same uid, one app version with the git facts, and one release. Packages
/// with a source are built first. Units of an earlier apply of this folder that it no longer
/// declares are removed. Other units of the app are kept.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    declare: DeclareArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

pub async fn run(ui: &Ui, global: &Global, args: ApplyArgs) -> Result<()> {
    let read = fission::look_at_folder(&args.folder.specdir)?;
    let verbose = args.declare.verbose;
    let mut options = args.declare.options(args.change);
    // Specs are applied by pipelines and declare the complete state: only warns about hand edits.
    options.hand_edits = HandEdits::Overwrite;
    apply_declared(ui, global, read, &options, verbose).await
}

use clap::Args;

use super::FolderArgs;
use crate::args::Global;
use crate::commands::deploy::{DeclareArgs, apply_declared};
use crate::commands::shared::ChangeArgs;
use crate::declared::apply::HandEdits;
use crate::declared::fission;
use crate::failure::Result;
use crate::output::Ui;

/// Apply a folder of specs
///
/// Every document of every `.yaml` and `.yml` file becomes part of one change: a version of each unit that really differs,
/// under one uid, one app version with the git facts, and one release. Packages with a source are built first. What an earlier
/// apply of the same folder made and the folder does not name any more is removed; everything else in the app stays.
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
    let mut options = args.declare.options(args.change);
    // Specs are applied by pipelines, and say all of what should be: it warns and goes on.
    options.hand_edits = HandEdits::Overwrite;
    apply_declared(ui, global, read, &options).await
}
